import type { JobId } from '../model/ids';
import type { JobDetails } from '../model/monitoring';
import type { RecurringDefinition } from '../model/recurring-definition';
import type { Duration } from '../model/time';
import type { EnqueueOptions, RecurringOptions, TransactionOptions } from './enqueue-options';
import type { JobBatch } from './job-batch';
import type { JobCall, JobTargetType } from './job-target-type';

/**
 * How an application describes work. Inject it: `constructor(private readonly jobs: IJobClient) {}`.
 *
 * `(s) => s.send(id)` is called once, at once, on a stand-in that records one method call; its arguments are stored as
 * they are at that moment. The target is the provider's class, or the abstract class that stands as its token. Every call
 * captures the ambient tenant, refuses bad input before anything is stored, and has stored what it answers for.
 *
 * All calls that describe a job throw {@link InvalidCallError} (the callback is no single call of a job's method),
 * {@link InvalidPayloadError} (an argument cannot be stored; named with its path), {@link InvalidArgumentError} (an option)
 * and, with `transaction`, {@link InvalidTransactionError} (it is not open, or not of this database).
 */
export abstract class IJobClient {
  /**
   * Stores a job that any worker of its queue may claim at once.
   *
   * @returns its id, or the id of the active job that holds its idempotency key; then nothing is stored, and no option or
   *   argument of this call counts
   * @throws {LockTimeoutError} somebody's open transaction kept the idempotency key locked
   */
  abstract enqueue<T>(target: JobTargetType<T>, call: JobCall<T>, options?: EnqueueOptions): Promise<JobId>;

  /**
   * Stores a job that becomes claimable later: the delay is a row with a due time, so it survives restarts.
   *
   * @param when a delay ('2h', 7_200_000; 0 or more) or an instant; a past one is due at once
   * @returns as {@link enqueue}
   */
  abstract schedule<T>(
    target: JobTargetType<T>,
    call: JobCall<T>,
    when: Duration | Date,
    options?: EnqueueOptions,
  ): Promise<JobId>;

  /**
   * Stores a job that runs if its parent succeeds: at once if it has, and cancelled, with all that follows it, if the
   * parent is or becomes dead or cancelled.
   *
   * @returns as {@link enqueue}
   * @throws {ParentJobNotFoundError} there is no such parent (any more)
   * @throws {WorkflowJobParentError} the parent is a step of a workflow
   */
  abstract continueWith<T>(
    parent: JobId,
    target: JobTargetType<T>,
    call: JobCall<T>,
    options?: EnqueueOptions,
  ): Promise<JobId>;

  /**
   * Stores the jobs of a batch, all or none, in one transaction.
   *
   * @returns the id of each member, by position; for a member whose idempotency key is held, the holder's
   * @throws {InvalidArgumentError} two members have one idempotency key
   * @throws {ParentJobNotFoundError | WorkflowJobParentError} as {@link continueWith}
   */
  abstract enqueueBatch(batch: JobBatch, options?: TransactionOptions): Promise<JobId[]>;

  /**
   * Creates or replaces a schedule that enqueues a job at each of its occurrences, on exactly one node. Safe at every
   * start: the next occurrence moves only when the expression's text has changed, and never to one that has fired.
   *
   * After downtime it fires once, at once, however many occurrences were missed; `misfire: 'skip'` drops one that is more
   * than 60 s late.
   *
   * @param id its identity, across all tenants
   * @param cron five-field vixie cron or `@hourly @daily @weekly @monthly @yearly`, in UTC. Both day fields restricted:
   *   either may match
   * @throws {InvalidCronError} the expression is malformed, or has no occurrence within eight years
   * @throws {RecurringTenantError} the id belongs to another tenant
   */
  abstract upsertRecurring<T>(
    id: string,
    cron: string,
    target: JobTargetType<T>,
    call: JobCall<T>,
    options?: RecurringOptions,
  ): Promise<void>;

  /** Ends a schedule. What it has fired runs on and keeps its link; an unknown id is a no-op. */
  abstract removeRecurring(id: string, options?: TransactionOptions): Promise<void>;

  /** Enqueues an extra occurrence of a schedule, which stays as it is. False when there is no such schedule. */
  abstract triggerRecurring(id: string, options?: TransactionOptions): Promise<boolean>;

  /**
   * Cancels a job that has not started, with all that continues it. A running one is asked to stop, through its signal,
   * and may succeed all the same.
   *
   * @returns true when something was cancelled or asked to stop; false for a finished or unknown job
   * @throws {WorkflowJobError} it is a step of a workflow: cancel the instance instead
   */
  abstract cancel(id: JobId, options?: TransactionOptions): Promise<boolean>;

  /** Lets a job that waits for its next attempt run at once; spends nothing. False for a job in any other state. */
  abstract runNow(id: JobId): Promise<boolean>;

  /**
   * Runs a finished job again, as a new job: same call, queue, priority, retry, key and tenant, with its retries fresh. The
   * original stays as it is, and its cancelled continuations stay cancelled.
   *
   * @returns the new job's id, or that of the active job that holds its key; null for an unknown id
   * @throws {JobNotFinishedError} it has not ended; for one that waits to retry, `runNow` is the call
   * @throws {WorkflowJobError} it is a step of a workflow: retry the instance instead
   */
  abstract requeue(id: JobId, options?: TransactionOptions): Promise<JobId | null>;

  /**
   * Deletes a finished job with its history. False for one that has not finished, or is unknown.
   *
   * @throws {WorkflowJobError} it is a step of a workflow, and goes with its instance
   */
  abstract delete(id: JobId): Promise<boolean>;

  /** A job with everything that is stored of it; null when there is none. Not checked against the ambient tenant. */
  abstract getJob(id: JobId): Promise<JobDetails | null>;

  /** A recurring definition; null when there is none. */
  abstract getRecurring(id: string): Promise<RecurringDefinition | null>;

  /** Keeps every node from claiming jobs of a queue, until {@link resumeQueue}; running ones go on. */
  abstract pauseQueue(queue: string): Promise<void>;

  abstract resumeQueue(queue: string): Promise<void>;

  /** Recorded names of the handlers that this node can run. */
  abstract getHandlerNames(): readonly string[];
}
