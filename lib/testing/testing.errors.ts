import { MillraceError } from '../model/errors';
import type { JobRecord } from '../model/job';

/** Thrown by `runUntilIdle`: a job has died. Its end is stored, and no other job is left claimed. */
export class JobFailedError extends MillraceError {
  readonly code = 'MILLRACE_JOB_FAILED';

  constructor(
    /** The job as it is stored. */
    readonly job: JobRecord,
    /** What its handler threw; undefined for a job that died without being run. */
    cause: unknown,
  ) {
    super(
      `Job ${job.id} (${job.handler}) is dead after ${job.failures} failures: ${headline(job.lastError)} ` +
        'Pass { throwOnFailure: false } where that is expected.',
      { cause },
    );
  }
}

/** Thrown by `runUntilIdle`: it ran so many jobs that some of them probably enqueue themselves for ever. */
export class TooManyExecutionsError extends MillraceError {
  readonly code = 'MILLRACE_TOO_MANY_EXECUTIONS';

  constructor(
    readonly executions: number,
    readonly lastHandler: string,
  ) {
    super(
      `After ${executions} executions there is still work, ${lastHandler} the last: a job probably enqueues itself for ever.`,
    );
  }
}

function headline(text: string | null): string {
  const [line = ''] = (text ?? '').split('\n', 1);
  return line === '' || /[.!?]$/.test(line) ? line : `${line}.`;
}
