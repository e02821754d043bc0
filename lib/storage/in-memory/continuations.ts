import { JobState } from '../../model/job-state';
import type { StoredJob } from './stored-job';
import type { Tables } from './tables';

/** Lets the direct continuations of a job that succeeded run. */
export function activateContinuations({ jobs, changes }: Tables, parent: StoredJob, now: Date): void {
  for (const child of jobs.awaitingOn(parent.record.id)) {
    jobs.update(child, { ...child.record, state: JobState.Enqueued, readyAt: now });
    changes.ready(child.record.queue);
  }
}

/** Cancels what awaits a job that will not succeed, what awaits that, and so on. */
export function cancelContinuations({ jobs }: Tables, parent: StoredJob, now: Date): void {
  const ended = [parent];
  for (let job = ended.pop(); job; job = ended.pop()) {
    for (const child of jobs.awaitingOn(job.record.id)) {
      jobs.update(child, { ...child.record, state: JobState.Cancelled, finishedAt: now });
      ended.push(child);
    }
  }
}
