import { type ClaimedJob, type JobRecord, type JobSummary, jobStateOf } from '../../../lib/storage';
import type { Row } from '../operation';
import { retryOf } from './retry.row';
import { flag, instant, number, optionalInstant, optionalNumber, optionalText, text } from './values';

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

/** Those of them that are 0 in most jobs. A null of them reads as 0. */
export const MOSTLY_ZERO = [
  'priority',
  'failures',
  'releases',
  'interruptions',
  'cancel_requested',
  'closing',
] as const satisfies (typeof CLAIMED_COLUMNS)[number][];

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
