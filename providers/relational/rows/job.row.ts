import {
  type ClaimedJob,
  JOB_STATE_CODES,
  type JobRecord,
  type JobSummary,
  jobStateOf,
  RETRY_KIND_CODES,
} from '../../../lib/storage';
import type { Row } from '../operation';
import { retryOf } from './retry.row';
import { epoch, flag, instant, number, optionalInstant, optionalNumber, optionalText, text } from './values';

/** Columns of {@link claimedJobOf}. */
export const CLAIMED_COLUMNS = [
  'id',
  'queue',
  'priority',
  'handler',
  'args',
  'arg_types',
  'retry_kind',
  'retry_max_attempts',
  'retry_base_delay',
  'retry_max_delay',
  'created_at',
  'ready_at',
  'attempt',
  'failures',
  'releases',
  'interruptions',
  'cancel_requested',
  'closing',
  'tenant_id',
  'trace_parent',
  'recurring_id',
  'occurrence_at',
  'timeout_ms',
  'instance_id',
  'position',
  'scope',
] as const;

export function claimedJobOf(row: Row): ClaimedJob {
  return {
    id: text(row['id']),
    queue: text(row['queue']),
    priority: number(row['priority']),
    handler: text(row['handler']),
    args: text(row['args']),
    argTypes: optionalText(row['arg_types']),
    retry: retryOf(row),
    createdAt: instant(row['created_at']),
    readyAt: optionalInstant(row['ready_at']),
    attempt: number(row['attempt']),
    failures: number(row['failures']),
    releases: number(row['releases']),
    interruptions: number(row['interruptions']),
    cancelRequested: flag(row['cancel_requested']),
    closing: flag(row['closing']),
    tenantId: optionalText(row['tenant_id']),
    traceParent: optionalText(row['trace_parent']),
    recurringId: optionalText(row['recurring_id']),
    occurrenceAt: optionalInstant(row['occurrence_at']),
    timeout: optionalNumber(row['timeout_ms']),
    instanceId: optionalText(row['instance_id']),
    position: optionalText(row['position']),
    scope: optionalText(row['scope']),
  };
}

/** Columns of {@link jobOf}. */
export const JOB_COLUMNS = [
  ...CLAIMED_COLUMNS,
  'state',
  'due_at',
  'worker_id',
  'lease_until',
  'idempotency_key',
  'parent_id',
  'requeued_from',
  'last_error',
  'finished_at',
] as const;

export function jobOf(row: Row): JobRecord {
  return {
    ...claimedJobOf(row),
    state: jobStateOf(number(row['state'])),
    dueAt: optionalInstant(row['due_at']),
    workerId: optionalText(row['worker_id']),
    leaseUntil: optionalInstant(row['lease_until']),
    idempotencyKey: optionalText(row['idempotency_key']),
    parentId: optionalText(row['parent_id']),
    requeuedFrom: optionalText(row['requeued_from']),
    lastError: optionalText(row['last_error']),
    finishedAt: optionalInstant(row['finished_at']),
  };
}

/** A job as an object of its columns, for a rowset. Nulls and a priority of 0 are left out: they read as null. */
export function jobToRow(job: JobRecord, activeKey: string | null): Record<string, unknown> {
  const row: Record<string, unknown> = {
    id: job.id,
    created_at: epoch(job.createdAt),
    state: JOB_STATE_CODES[job.state],
    queue: job.queue,
    handler: job.handler,
    args: job.args,
    retry_kind: RETRY_KIND_CODES[job.retry.kind],
    retry_max_attempts: job.retry.maxAttempts,
    retry_base_delay: job.retry.baseDelay,
    retry_max_delay: job.retry.maxDelay,
  };
  if (job.priority !== 0) row['priority'] = job.priority;
  if (job.argTypes !== null) row['arg_types'] = job.argTypes;
  if (job.readyAt !== null) row['ready_at'] = epoch(job.readyAt);
  if (job.dueAt !== null) row['due_at'] = epoch(job.dueAt);
  if (job.finishedAt !== null) row['finished_at'] = epoch(job.finishedAt);
  if (job.occurrenceAt !== null) row['occurrence_at'] = epoch(job.occurrenceAt);
  if (job.timeout !== null) row['timeout_ms'] = job.timeout;
  if (job.parentId !== null) row['parent_id'] = job.parentId;
  if (job.requeuedFrom !== null) row['requeued_from'] = job.requeuedFrom;
  if (job.instanceId !== null) row['instance_id'] = job.instanceId;
  if (job.idempotencyKey !== null) row['idempotency_key'] = job.idempotencyKey;
  if (activeKey !== null) row['active_key'] = activeKey;
  if (job.tenantId !== null) row['tenant_id'] = job.tenantId;
  if (job.recurringId !== null) row['recurring_id'] = job.recurringId;
  if (job.traceParent !== null) row['trace_parent'] = job.traceParent;
  if (job.position !== null) row['position'] = job.position;
  if (job.scope !== null) row['scope'] = job.scope;
  return row;
}

export const JOB_SUMMARY_COLUMNS = [
  'id',
  'queue',
  'state',
  'handler',
  'priority',
  'created_at',
  'due_at',
  'finished_at',
  'attempt',
  'failures',
  'releases',
  'interruptions',
  'tenant_id',
  'worker_id',
] as const;

export function jobSummaryOf(row: Row): JobSummary {
  return {
    id: text(row['id']),
    queue: text(row['queue']),
    state: jobStateOf(number(row['state'])),
    handler: text(row['handler']),
    priority: number(row['priority']),
    createdAt: instant(row['created_at']),
    dueAt: optionalInstant(row['due_at']),
    finishedAt: optionalInstant(row['finished_at']),
    attempt: number(row['attempt']),
    failures: number(row['failures']),
    releases: number(row['releases']),
    interruptions: number(row['interruptions']),
    tenantId: optionalText(row['tenant_id']),
    workerId: optionalText(row['worker_id']),
  };
}
