import type { JobRecord } from '../../model/job';
import { JobState } from '../../model/job-state';
import type { ClaimRef } from '../../model/job-transition';
import { later, type Milliseconds } from '../../model/time';
import type { Renewal, RenewalAnswer } from '../job-storage';
import type { Tables } from './tables';

/** Extends the leases that the worker still holds, and tells what else it holds. */
export function renew(
  { jobs }: Tables,
  workerId: string,
  claims: readonly ClaimRef[],
  leaseDuration: Milliseconds,
  now: Date,
): Renewal {
  const leaseUntil = later(now, leaseDuration);
  const listed = new Set<JobRecord['id']>();
  const answers = claims.map(({ id, attempt }): RenewalAnswer => {
    const job = jobs.get(id);
    if (job === undefined || !isOwner(job.record, workerId, attempt)) return 'lost';
    listed.add(id);
    jobs.update(job, { ...job.record, leaseUntil });
    return job.record.cancelRequested ? 'cancelRequested' : 'renewed';
  });
  const unlisted: ClaimRef[] = [];
  for (const { record } of jobs.ownedBy(workerId)) {
    if (!listed.has(record.id)) unlisted.push({ id: record.id, attempt: record.attempt });
  }
  return { answers, unlisted };
}

/** The fence: only who holds this very attempt may write the job. */
export function isOwner(job: JobRecord, workerId: string, attempt: number): boolean {
  return job.state === JobState.Processing && job.workerId === workerId && job.attempt === attempt;
}
