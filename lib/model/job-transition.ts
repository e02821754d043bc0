import type { InstanceId, JobId } from './ids';
import type { JobRecord } from './job';
import type { Advance } from './workflow-instance';

/** What an execution can become. */
export type TransitionTarget = 'Succeeded' | 'Failed' | 'Dead' | 'Cancelled' | 'Enqueued' | 'Scheduled';

/** A job and the attempt at it that a worker believes it holds. */
export interface ClaimRef {
  readonly id: JobId;
  readonly attempt: number;
}

/**
 * The end of one execution, applied by storage as a whole or not at all.
 *
 * It applies if and only if the job is Processing under `workerId` with that `attempt` (the fence).
 * Succeeded lets the job's Awaiting continuations run (one level); Dead and Cancelled cancel them, transitively through
 * Awaiting jobs. Enqueued gives the job back, Scheduled puts it back until `dueAt`; both count as a release.
 */
export interface JobTransition {
  readonly id: JobId;
  readonly workerId: string;
  readonly attempt: number;
  readonly target: TransitionTarget;
  /** The new count. */
  readonly failures: number;
  /** For Failed and Scheduled: when it becomes claimable. Null otherwise. */
  readonly dueAt: Date | null;
  /** Becomes `lastError`. Null keeps the previous one, except for Failed, which always overwrites. */
  readonly error: string | null;
  /**
   * The attempt row to write: `Failed` with `error`, `Interrupted` for a release of a job that had started, null for none.
   */
  readonly history: 'Failed' | 'Interrupted' | null;
  /** Jobs that exist if and only if this transition applies. The job's own key is released before they are inserted. */
  readonly enqueue: readonly JobRecord[];
  /** The job's instance; null for a plain job. Its row is locked before the job's. */
  readonly instanceId: InstanceId | null;
  /** Moves the instance on, in the same transaction. Null for a plain job, and for one that moves nothing. */
  readonly advance: Advance | null;
}

/** What became of a transition. */
export type TransitionResult =
  | { readonly outcome: 'applied' }
  /** The caller no longer owns the job. Nothing was written. */
  | { readonly outcome: 'fenced' }
  /** Somebody has a lock on a row that it needs. Nothing was written; send it again. */
  | { readonly outcome: 'held' }
  /** Its own data, or its `advance`, cannot be stored. Nothing was written. */
  | { readonly outcome: 'rejected'; readonly error: unknown };
