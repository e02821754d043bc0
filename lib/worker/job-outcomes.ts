import type { ClaimedJob, JobRecord } from '../model/job';
import type { JobTransition, TransitionTarget } from '../model/job-transition';
import { nextRetryDelay } from '../model/retry';
import { LATEST_INSTANT, MINUTE, type Milliseconds, SECOND } from '../model/time';

/** A job as far as its outcome depends on it: a claim, or a stored record. */
export type EndingJob = Pick<
  ClaimedJob,
  'id' | 'attempt' | 'failures' | 'releases' | 'interruptions' | 'retry' | 'handler' | 'instanceId'
>;

/** What to do with a job that has just been claimed. */
export type ClaimVerdict = 'run' | 'cancel' | 'putBack' | 'poison';

/**
 * Decides what becomes of a claimed job before any of its code runs. A job that was asked to stop never runs; one that
 * this node cannot run is put back before its interruptions count, since they are not its fault. So is one whose workflow
 * scope has ended: its end moves the instance on, which takes a node that knows the workflow.
 *
 * @param known whether this node has the job's handler
 */
export function verdictOf(
  job: Pick<ClaimedJob, 'cancelRequested' | 'closing' | 'interruptions'>,
  known: boolean,
  interruptionLimit: number,
): ClaimVerdict {
  if (job.cancelRequested || (job.closing && known)) return 'cancel';
  if (!known) return 'putBack';
  return job.interruptions > interruptionLimit ? 'poison' : 'run';
}

/** The handler returned. `enqueue` is what it wants stored with its success. */
export function succeeded(job: EndingJob, workerId: string, enqueue: readonly JobRecord[]): JobTransition {
  return {
    id: job.id,
    workerId,
    attempt: job.attempt,
    target: 'Succeeded',
    failures: job.failures,
    dueAt: null,
    error: null,
    history: null,
    enqueue,
    instanceId: job.instanceId,
    advance: null,
  };
}

/**
 * The handler threw: Failed until its policy's next attempt, Dead when there is none.
 *
 * @param retryAfter when the next attempt is due instead, where the handler has said so
 */
export function failed(
  job: EndingJob,
  workerId: string,
  error: string,
  now: Date,
  retryAfter?: Milliseconds,
): JobTransition {
  const failures = job.failures + 1;
  const delay = nextRetryDelay(job.retry, failures, spreadOf(job.id, failures));
  if (delay === null) return dead(job, workerId, error);
  const dueAt = after(now, retryAfter ?? delay);
  return ended(job, workerId, 'Failed', { failures, dueAt, error, history: 'Failed' });
}

/** The handler threw what no retry can mend: Dead whatever its policy says. */
export function dead(job: EndingJob, workerId: string, error: string): JobTransition {
  return ended(job, workerId, 'Dead', { failures: job.failures + 1, error, history: 'Failed' });
}

/** Someone asked it to stop, or its workflow scope ended. Its handler's own outcome, if it comes, no longer counts. */
export function cancelled(job: EndingJob, workerId: string): JobTransition {
  return ended(job, workerId, 'Cancelled', { error: 'Cancelled on request.' });
}

/** Given back in order, claimable at once by any node; spends no budget. `started` tells whether its handler had begun. */
export function released(job: EndingJob, workerId: string, started: boolean): JobTransition {
  return ended(job, workerId, 'Enqueued', { history: started ? 'Interrupted' : null });
}

/** The handler has nothing to do yet: it comes back after `delay`, and no budget is spent. */
export function snoozed(job: EndingJob, workerId: string, delay: Milliseconds, now: Date): JobTransition {
  return ended(job, workerId, 'Scheduled', { dueAt: after(now, delay) });
}

/** Put back for a node that can run it: 5 s, doubling with every release up to a minute. `missing` names what is lacking. */
export function putBack(job: EndingJob, workerId: string, missing: string, now: Date): JobTransition {
  const delay = Math.min(5 * SECOND * 2 ** Math.min(job.releases, 4), MINUTE);
  return ended(job, workerId, 'Scheduled', {
    dueAt: after(now, delay),
    error: `${missing} It waits for one that has.`,
  });
}

/** What is lacking when no provider of this node has a job's handler. */
export function missingHandler(handler: string): string {
  return `No provider of the node that claimed this job has a handler named "${handler}".`;
}

/** Its executions vanished too often to let it end yet another process: Dead without being run, failures unchanged. */
export function poisoned(job: EndingJob, workerId: string, interruptionLimit: number): JobTransition {
  return ended(job, workerId, 'Dead', {
    error:
      `Poisoned: ${job.interruptions} executions vanished without an outcome, more than the limit of ` +
      `${interruptionLimit} (${job.attempt} claims, ${job.failures} recorded failures). It was not run again. ` +
      'Find what ends its process, then requeue it.',
  });
}

function ended(
  job: EndingJob,
  workerId: string,
  target: TransitionTarget,
  change: Partial<Pick<JobTransition, 'failures' | 'dueAt' | 'error' | 'history'>>,
): JobTransition {
  return {
    id: job.id,
    workerId,
    attempt: job.attempt,
    target,
    failures: change.failures ?? job.failures,
    dueAt: change.dueAt ?? null,
    error: change.error ?? null,
    history: change.history ?? null,
    enqueue: [],
    instanceId: job.instanceId,
    advance: null,
  };
}

function after(now: Date, delay: Milliseconds): Date {
  return new Date(Math.min(now.getTime() + delay, LATEST_INSTANT.getTime()));
}

/** From 0 to 1, always the same for the same failure of the same job: FNV-1a. */
function spreadOf(id: string, failures: number): number {
  let hash = 0x811c9dc5;
  for (const character of `${id}${failures}`) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
