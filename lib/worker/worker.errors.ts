import { MillraceError } from '../model/errors';
import type { JobId } from '../model/ids';

/** Why a running job is asked to stop. */
export type AbortCause = 'cancelled' | 'leaseLost' | 'superseded' | 'shutdown';

const CAUSES = {
  cancelled: 'somebody cancelled it',
  leaseLost: 'its lease was lost, and another node may run it',
  superseded: 'its lease had expired, and this node has claimed it anew',
  shutdown: 'the application shuts down; it will run again',
} as const satisfies Record<AbortCause, string>;

/** The `reason` of a job's signal, and so what `signal.throwIfAborted()` throws: the execution should end. */
export class JobAbortedError extends MillraceError {
  readonly code = 'MILLRACE_JOB_ABORTED';

  constructor(
    readonly jobId: JobId,
    readonly abortCause: AbortCause,
  ) {
    super(`Job ${jobId} should stop: ${CAUSES[abortCause]}.`);
  }
}

const DEEPEST_CAUSE = 5;

/** Whether a handler threw because its signal aborted: the reason itself, what Node makes of it, or an error caused by either. */
export function isAbort(error: unknown, reason: Error): boolean {
  let current = error;
  for (let depth = 0; depth <= DEEPEST_CAUSE && current instanceof Error; depth++) {
    if (current === reason || current.name === 'AbortError') return true;
    current = current.cause;
  }
  return false;
}
