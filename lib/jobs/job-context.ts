import type { LoggerService } from '@nestjs/common';
import type { InstanceId, JobId } from '../model/ids';
import type { FollowUpOptions } from './enqueue-options';
import type { JobCall, JobTargetType } from './job-target-type';

/** The workflow that a running job is a step of. */
export interface JobWorkflow {
  readonly instanceId: InstanceId;
}

/**
 * The execution that the running code belongs to. A handler gets it by `@JobCtx()`; anything below a handler may inject
 * it: it is a singleton that looks at the running job, and makes nobody request-scoped.
 *
 * Injected and read outside of a job, every member but `active` throws {@link NoJobContextError}.
 */
export abstract class JobContext {
  /** Whether a job is running here. */
  abstract readonly active: boolean;

  abstract readonly jobId: JobId;

  /** Recorded name of the handler. */
  abstract readonly handler: string;

  abstract readonly queue: string;

  /** This execution's number, from 1; counts executions that were cut off, too. */
  abstract readonly attempt: number;

  /** Failures recorded before this execution. */
  abstract readonly failures: number;

  /** The tenant that enqueued the job; null for none. */
  abstract readonly tenantId: string | null;

  /** The recurring definition that this job is an occurrence of; null for none. */
  abstract readonly recurringId: string | null;

  /** The instant for which the occurrence was planned, however late it runs; null for other jobs. */
  abstract readonly occurrenceAt: Date | null;

  /**
   * Aborts on cancellation, on loss of the lease, after the job's `timeout` and at the end of the shutdown's drain; its
   * `reason` says which. Honour
   * it where you can: an execution that ignores it runs on, perhaps beside another one.
   */
  abstract readonly signal: AbortSignal;

  /** Present for the steps of a workflow. */
  abstract readonly workflow?: JobWorkflow;

  /** Nest's logger, with the job's id as context. */
  abstract readonly logger: LoggerService;

  /**
   * Adds a job that is stored in the transaction of this job's success, and not at all if this job fails.
   *
   * @returns the new job's id; if an active job holds its idempotency key, nothing is stored under that id
   * @throws {JobEndedError} the handler has returned already
   * @throws {InvalidCallError | InvalidPayloadError | InvalidArgumentError} as `enqueue` does
   */
  abstract enqueueOnSuccess<T>(target: JobTargetType<T>, call: JobCall<T>, options?: FollowUpOptions): JobId;
}
