import { MillraceError } from '../model/errors';
import type { InstanceId, JobId } from '../model/ids';
import type { JobState } from '../model/job-state';
import type { Milliseconds } from '../model/time';

/**
 * Thrown by every call that takes `(s) => s.method(…)`: what was passed is no direct call of one method, or the method is
 * no job. Nothing was stored.
 */
export class InvalidCallError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_CALL';
}

/** Thrown at startup: two different classes would run jobs of one recorded name. */
export class DuplicateHandlerError extends MillraceError {
  readonly code = 'MILLRACE_DUPLICATE_HANDLER';

  constructor(
    readonly handler: string,
    readonly classes: readonly [string, string],
    where: readonly [string, string],
  ) {
    super(
      `Two handlers are recorded as "${handler}": ${classes[0]} of ${where[0]} and ${classes[1]} of ${where[1]}. ` +
        `Give one of them a name of its own, with @JobTarget('name') on the class or @Job({ name }) on the method.`,
    );
  }
}

/** Thrown at startup where NODE_ENV is `production`: a recorded name comes from a class that a minifier has renamed. */
export class UnstableHandlerNameError extends MillraceError {
  readonly code = 'MILLRACE_UNSTABLE_HANDLER_NAME';
}

/** Thrown by the injected {@link JobContext} where no job is running. */
export class NoJobContextError extends MillraceError {
  readonly code = 'MILLRACE_NO_JOB_CONTEXT';

  constructor() {
    super('JobContext was read outside of a job. Ask `active` first, or read it only below a @Job handler.');
  }
}

/** Thrown by `enqueueOnSuccess` once the handler has ended: its transition can no longer carry the job. Nothing was stored. */
export class JobEndedError extends MillraceError {
  readonly code = 'MILLRACE_JOB_ENDED';

  constructor(readonly jobId: JobId) {
    super(`Job ${jobId} has ended, so nothing can be stored with its success. Await all work in the handler.`);
  }
}

/** What an execution fails with, and its signal's reason, when it has taken longer than its `timeout`. */
export class JobTimeoutError extends MillraceError {
  readonly code = 'MILLRACE_JOB_TIMEOUT';

  constructor(
    readonly jobId: JobId,
    readonly timeout: Milliseconds,
  ) {
    super(`Job ${jobId} took longer than its timeout of ${timeout} ms.`);
  }
}

/** Thrown by `requeue`: the job has not come to an end. Nothing was changed. */
export class JobNotFinishedError extends MillraceError {
  readonly code = 'MILLRACE_JOB_NOT_FINISHED';

  constructor(
    readonly jobId: JobId,
    readonly state: JobState,
  ) {
    super(
      state === 'Failed'
        ? `Job ${jobId} waits for its next attempt: use runNow to have it at once. Requeueing it would run it twice.`
        : `Job ${jobId} is ${state}, and only a finished job can be requeued. Cancel it first, or let it end.`,
    );
  }
}

/** Thrown by calls that would pull a step from under its workflow. Nothing was changed. */
export class WorkflowJobError extends MillraceError {
  readonly code = 'MILLRACE_WORKFLOW_JOB';

  constructor(
    readonly jobId: JobId,
    readonly instanceId: InstanceId,
    operation: string,
    instead: string,
  ) {
    super(`Job ${jobId} is a step of workflow instance ${instanceId}, so ${operation} is refused. ${instead}`);
  }
}
