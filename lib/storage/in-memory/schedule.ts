import type { JobId } from '../../model/ids';
import { JobState } from '../../model/job-state';
import { latest } from '../../model/time';
import type { Tables } from './tables';

/** Makes jobs claimable whose due time has come, earliest first. */
export function activateDue({ jobs, changes }: Tables, limit: number, now: Date): number {
  let moved = 0;
  for (let job = jobs.due.peek(); job && moved < limit && job.at <= now.getTime(); job = jobs.due.peek()) {
    const { record } = job;
    const readyAt = latest(record.dueAt ?? now, record.createdAt);
    jobs.update(job, { ...record, state: JobState.Enqueued, dueAt: null, readyAt });
    changes.ready(record.queue);
    moved++;
  }
  return moved;
}

/** Ends a job's wait for its next attempt. */
export function runNow({ jobs, changes }: Tables, id: JobId, now: Date): boolean {
  const job = jobs.get(id);
  if (job?.record.state !== JobState.Failed) return false;
  jobs.update(job, { ...job.record, state: JobState.Enqueued, dueAt: null, readyAt: now });
  changes.ready(job.record.queue);
  return true;
}
