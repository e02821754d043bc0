import { MillraceError } from '../model/errors';
import { type Duration, type Milliseconds, toMilliseconds } from '../model/time';

/** Thrown by a handler whose failure no retry can mend: the job is Dead at once, whatever its policy says. */
export class UnrecoverableJobError extends MillraceError {
  readonly code = 'MILLRACE_UNRECOVERABLE_JOB';
}

/**
 * Thrown by a handler that knows when the next attempt has a chance: a failure like any other, except that the next attempt
 * is due after this delay instead of its policy's. A policy that allows no further attempt still ends the job.
 */
export class RetryAfterError extends MillraceError {
  readonly code = 'MILLRACE_RETRY_AFTER';
  readonly delay: Milliseconds;

  /**
   * @param delay milliseconds, or text such as '30s'
   * @throws {InvalidArgumentError} it is no duration
   */
  constructor(delay: Duration, message?: string, options?: ErrorOptions) {
    const milliseconds = toMilliseconds(delay, 'RetryAfterError: delay');
    super(message ?? `To be tried again after ${milliseconds} ms.`, options);
    this.delay = milliseconds;
  }
}

/**
 * Thrown by a handler that has nothing to do yet: the job comes back after this delay. It is no failure: it spends no
 * retry and is counted as a release, however often it happens.
 */
export class SnoozeError extends MillraceError {
  readonly code = 'MILLRACE_SNOOZE';
  readonly delay: Milliseconds;

  /**
   * @param delay milliseconds, or text such as '30s'
   * @throws {InvalidArgumentError} it is no duration
   */
  constructor(delay: Duration, message?: string) {
    const milliseconds = toMilliseconds(delay, 'SnoozeError: delay');
    super(message ?? `Put off for ${milliseconds} ms.`);
    this.delay = milliseconds;
  }
}
