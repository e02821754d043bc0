import type { InstanceId, JobId } from './ids';
import { JobState } from './job-state';
import type { RetryPolicy } from './retry';
import type { Milliseconds } from './time';

/** A job as a provider stores it. Never mutated: a change is a transition applied by storage. */
export interface JobRecord {
  /** Minted by the engine; its text order is creation order and its time is `createdAt`. */
  readonly id: JobId;
  readonly queue: string;
  readonly state: JobState;
  /** Higher first; ties run in the order in which they became claimable. */
  readonly priority: number;
  /** Recorded name of the handler, `Token.method` unless it is pinned. */
  readonly handler: string;
  /** The arguments: one JSON array, as text. */
  readonly args: string;
  /** What JSON lacks of `args` (dates, maps, …), as JSON text; null when it lacks nothing. */
  readonly argTypes: string | null;
  readonly retry: RetryPolicy;
  readonly createdAt: Date;
  /** When it became claimable; kept by release and reclaim, null before. Ordering within a priority. */
  readonly readyAt: Date | null;
  /** When a Scheduled or Failed job becomes claimable; null in every other state. */
  readonly dueAt: Date | null;
  /** Owner while Processing; null otherwise. */
  readonly workerId: string | null;
  /** End of the owner's claim while Processing; null otherwise. */
  readonly leaseUntil: Date | null;
  /** Claims started. Fences transitions; never drives retries. */
  readonly attempt: number;
  /** Failures recorded. Drives retries; a crash or a deploy leaves it alone. */
  readonly failures: number;
  /** Orderly releases and put-backs. Spends no budget. */
  readonly releases: number;
  /** Executions that vanished: claims that took over an expired lease. Detects poison. */
  readonly interruptions: number;
  /** Someone asked the running job to stop. Never cleared. */
  readonly cancelRequested: boolean;
  /** Its workflow scope ends: let it finish, but its next Failed is stored as Dead and its release as Cancelled. */
  readonly closing: boolean;
  /** Unique among active jobs of a tenant; the field is kept when the job ends. */
  readonly idempotencyKey: string | null;
  /** Null is a scope of its own, not a wildcard. */
  readonly tenantId: string | null;
  readonly parentId: JobId | null;
  /** The job that this one runs again. Provenance only. */
  readonly requeuedFrom: JobId | null;
  /** W3C traceparent of the enqueueing span. */
  readonly traceParent: string | null;
  /** The definition that produced it. Provenance only: survives the definition. */
  readonly recurringId: string | null;
  /** The planned instant of the occurrence that this job is. */
  readonly occurrenceAt: Date | null;
  readonly timeout: Milliseconds | null;
  /** Text of the latest failure, at most 8 KiB. */
  readonly lastError: string | null;
  readonly finishedAt: Date | null;
  /** The workflow instance that this job moves on. */
  readonly instanceId: InstanceId | null;
  /** Where in the workflow's graph it stands: JSON text, opaque to storage. */
  readonly position: string | null;
  /** Scope path such as `each1.3/par1.0/`, the empty string for the root; matched by prefix. */
  readonly scope: string | null;
}

/** What must be given; {@link newJob} fills the rest. */
export type JobFields = Pick<JobRecord, 'id' | 'queue' | 'handler' | 'args' | 'retry' | 'createdAt'> &
  Partial<JobRecord>;

/**
 * A complete record, so that a column is never undefined. Enqueued and claimable at once unless the fields say otherwise.
 * It lists every field: all records have one shape then, which is what keeps making and reading them fast.
 */
export function newJob(fields: JobFields): JobRecord {
  const { state = JobState.Enqueued, createdAt } = fields;
  const { readyAt = state === JobState.Enqueued ? createdAt : null } = fields;
  return {
    id: fields.id,
    queue: fields.queue,
    state,
    priority: fields.priority ?? 0,
    handler: fields.handler,
    args: fields.args,
    argTypes: fields.argTypes ?? null,
    retry: fields.retry,
    createdAt,
    readyAt,
    dueAt: fields.dueAt ?? null,
    workerId: fields.workerId ?? null,
    leaseUntil: fields.leaseUntil ?? null,
    attempt: fields.attempt ?? 0,
    failures: fields.failures ?? 0,
    releases: fields.releases ?? 0,
    interruptions: fields.interruptions ?? 0,
    cancelRequested: fields.cancelRequested ?? false,
    closing: fields.closing ?? false,
    idempotencyKey: fields.idempotencyKey ?? null,
    tenantId: fields.tenantId ?? null,
    parentId: fields.parentId ?? null,
    requeuedFrom: fields.requeuedFrom ?? null,
    traceParent: fields.traceParent ?? null,
    recurringId: fields.recurringId ?? null,
    occurrenceAt: fields.occurrenceAt ?? null,
    timeout: fields.timeout ?? null,
    lastError: fields.lastError ?? null,
    finishedAt: fields.finishedAt ?? null,
    instanceId: fields.instanceId ?? null,
    position: fields.position ?? null,
    scope: fields.scope ?? null,
  };
}

/** What a worker is given of a job that it has claimed: all that running it needs, and no more. */
export type ClaimedJob = Pick<
  JobRecord,
  | 'id'
  | 'queue'
  | 'priority'
  | 'handler'
  | 'args'
  | 'argTypes'
  | 'retry'
  | 'createdAt'
  | 'readyAt'
  | 'attempt'
  | 'failures'
  | 'releases'
  | 'interruptions'
  | 'cancelRequested'
  | 'closing'
  | 'tenantId'
  | 'traceParent'
  | 'recurringId'
  | 'occurrenceAt'
  | 'timeout'
  | 'instanceId'
  | 'position'
  | 'scope'
>;

/** A job with two or more interruptions: never claimed ahead, and a node runs at most one at a time. */
export const SUSPECT_INTERRUPTIONS = 2;
