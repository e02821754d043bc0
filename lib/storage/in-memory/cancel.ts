import type { JobId } from '../../model/ids';
import { isTerminal, JobState } from '../../model/job-state';
import { cancelContinuations } from './continuations';
import type { StoredJob } from './stored-job';
import type { Tables } from './tables';

/** Cancels a job that has not started, and asks a running one to stop. */
export function cancel(tables: Tables, id: JobId, now: Date): boolean {
  const job = tables.jobs.get(id);
  if (job === undefined || isTerminal(job.record.state)) return false;
  if (job.record.state === JobState.Processing) requestCancel(tables, job);
  else cancelPending(tables, job, now);
  return true;
}

export function requestCancel({ jobs, changes }: Tables, job: StoredJob): void {
  jobs.update(job, { ...job.record, cancelRequested: true });
  changes.cancelRequested(job.record.id);
}

export function cancelPending(tables: Tables, job: StoredJob, now: Date): void {
  tables.jobs.update(job, { ...job.record, state: JobState.Cancelled, dueAt: null, finishedAt: now });
  cancelContinuations(tables, job, now);
}
