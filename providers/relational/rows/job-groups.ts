import { JOB_STATE_CODES, type JobRecord, RETRY_KIND_CODES } from '../../../lib/storage';
import { MEMBERS } from '../dialect';
import type { JobColumn } from '../schema/tables';
import { epoch, optionalEpoch } from './values';

/** What jobs that are stored together hardly ever share. */
export const OWN_COLUMNS = [
  'id',
  'args',
  'arg_types',
  'instance_id',
  'position',
  'scope',
] as const satisfies JobColumn[];

/** What they nearly always share: it travels once for all neighbours that agree in it. */
export const SHARED_COLUMNS = [
  'created_at',
  'ready_at',
  'due_at',
  'finished_at',
  'occurrence_at',
  'parent_id',
  'requeued_from',
  'priority',
  'state',
  'queue',
  'handler',
  'retry_kind',
  'retry_max_attempts',
  'retry_base_delay',
  'retry_max_delay',
  'timeout_ms',
  'idempotency_key',
  'active_key',
  'tenant_id',
  'recurring_id',
  'trace_parent',
] as const satisfies JobColumn[];

type Columns = Partial<Record<JobColumn, string | number | null>>;
type Group = Columns & { readonly [MEMBERS]: Columns[] };

/** Ids, instants and column names of a job as JSON, at the most. */
const SIZE_OF_NUMBERS = 1024;
/** Text inside JSON text at worst doubles: it holds quotes and backslashes to escape, and no control characters. */
const LARGEST_ESCAPE = 2;

/** How long a job is as JSON, at the most, in UTF-16 units. */
export function largestSizeOf(job: JobRecord): number {
  const { args, argTypes, position, scope, handler, queue, tenantId, recurringId, traceParent } = job;
  const texts =
    args.length +
    handler.length +
    queue.length +
    (argTypes?.length ?? 0) +
    (position?.length ?? 0) +
    (scope?.length ?? 0) +
    (tenantId?.length ?? 0) +
    (recurringId?.length ?? 0) +
    (traceParent?.length ?? 0);
  return SIZE_OF_NUMBERS + LARGEST_ESCAPE * texts;
}

/**
 * New jobs as JSON for a grouped rowset: arrays of groups, in as many texts as their sizes ask for.
 *
 * @param activeKeyOf what a job's `active_key` is; null for none
 * @param largest size of a text at the most, in UTF-16 units; a job that is larger goes alone
 */
export function groupedJobs(
  jobs: readonly JobRecord[],
  activeKeyOf: (job: JobRecord) => string | null,
  largest: number,
): string[] {
  const texts: string[] = [];
  let groups: Group[] = [];
  let first: JobRecord | null = null;
  let members: Columns[] = [];
  let size = 0;
  for (const job of jobs) {
    const added = largestSizeOf(job);
    if (size > 0 && size + added > largest) {
      texts.push(JSON.stringify(groups));
      groups = [];
      first = null;
      size = 0;
    }
    if (first === null || !agrees(first, job)) {
      first = job;
      members = [];
      groups.push({ ...sharedOf(job, activeKeyOf(job)), [MEMBERS]: members });
    }
    members.push(memberOf(job));
    size += added;
  }
  if (groups.length > 0) texts.push(JSON.stringify(groups));
  return texts;
}

/** What is left out reads as null. */
function memberOf({ id, args, argTypes, instanceId, position, scope }: JobRecord): Columns {
  const plain = argTypes === null && instanceId === null && position === null && scope === null;
  return plain ? { id, args } : { id, args, arg_types: argTypes, instance_id: instanceId, position, scope };
}

function sharedOf(job: JobRecord, activeKey: string | null): Columns {
  return {
    created_at: epoch(job.createdAt),
    ready_at: optionalEpoch(job.readyAt),
    due_at: optionalEpoch(job.dueAt),
    finished_at: optionalEpoch(job.finishedAt),
    occurrence_at: optionalEpoch(job.occurrenceAt),
    parent_id: job.parentId,
    requeued_from: job.requeuedFrom,
    priority: job.priority,
    state: JOB_STATE_CODES[job.state],
    queue: job.queue,
    handler: job.handler,
    retry_kind: RETRY_KIND_CODES[job.retry.kind],
    retry_max_attempts: job.retry.maxAttempts,
    retry_base_delay: job.retry.baseDelay,
    retry_max_delay: job.retry.maxDelay,
    timeout_ms: job.timeout,
    idempotency_key: job.idempotencyKey,
    active_key: activeKey,
    tenant_id: job.tenantId,
    recurring_id: job.recurringId,
    trace_parent: job.traceParent,
  };
}

/** Whether two jobs share all of {@link SHARED_COLUMNS}. */
function agrees(a: JobRecord, b: JobRecord): boolean {
  return (
    a.handler === b.handler &&
    a.queue === b.queue &&
    a.priority === b.priority &&
    a.state === b.state &&
    a.idempotencyKey === null &&
    b.idempotencyKey === null &&
    a.tenantId === b.tenantId &&
    a.traceParent === b.traceParent &&
    a.timeout === b.timeout &&
    a.parentId === b.parentId &&
    a.requeuedFrom === b.requeuedFrom &&
    a.recurringId === b.recurringId &&
    sameRetry(a.retry, b.retry) &&
    sameInstant(a.createdAt, b.createdAt) &&
    sameInstant(a.readyAt, b.readyAt) &&
    sameInstant(a.dueAt, b.dueAt) &&
    sameInstant(a.finishedAt, b.finishedAt) &&
    sameInstant(a.occurrenceAt, b.occurrenceAt)
  );
}

function sameInstant(a: Date | null, b: Date | null): boolean {
  return a === b || (a !== null && b !== null && epoch(a) === epoch(b));
}

function sameRetry(a: JobRecord['retry'], b: JobRecord['retry']): boolean {
  if (a === b) return true;
  return (
    a.kind === b.kind && a.maxAttempts === b.maxAttempts && a.baseDelay === b.baseDelay && a.maxDelay === b.maxDelay
  );
}
