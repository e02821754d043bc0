import {
  DuplicateJobError,
  InvalidJobRecordError,
  type JobId,
  type JobRecord,
  JobState,
  ParentJobNotFoundError,
} from '../../lib/storage';
import { LARGEST_STATEMENT } from './chunks';
import { largestSizeOf } from './rows';

/** Checks what can be checked without the database. */
export function checkNewJobs(jobs: readonly JobRecord[]): void {
  refuseDuplicates(jobs);
  const places = jobs.some(isAwaiting) ? new Map(jobs.map(({ id }, at) => [id, at])) : null;
  for (const [at, job] of jobs.entries()) {
    if (isAwaiting(job)) {
      if (job.parentId === null) throw new InvalidJobRecordError(`Job ${job.id} is Awaiting and names no parent.`);
      if ((places?.get(job.parentId) ?? 0) > at) throw new ParentJobNotFoundError(job.parentId, job.id);
    } else if (job.state !== JobState.Enqueued && job.state !== JobState.Scheduled) {
      throw new InvalidJobRecordError(
        `Job ${job.id} cannot start as ${job.state}: use Enqueued, Scheduled or Awaiting.`,
      );
    }
  }
}

/** Ids that grow from one job to the next, as the engine mints them, need no further look. */
function refuseDuplicates(jobs: readonly JobRecord[]): void {
  if (jobs.every(({ id }, at) => at === 0 || id > (jobs[at - 1]?.id ?? ''))) return;
  const ids = new Set<JobId>();
  for (const { id } of jobs) {
    if (ids.has(id)) throw new DuplicateJobError(id);
    ids.add(id);
  }
}

/** True when no job needs a look at other rows, and all of them fit one statement: then it is its own transaction. */
export function isOneStatement(jobs: readonly JobRecord[]): boolean {
  let size = 0;
  for (const job of jobs) {
    if (!isPlain(job)) return false;
    size += largestSizeOf(job);
  }
  return size <= LARGEST_STATEMENT;
}

/** It names no other row: nobody can be in its way. */
export function isPlain(job: JobRecord): boolean {
  return job.idempotencyKey === null && !isAwaiting(job);
}

/** What an enqueue may have to wait for, in words for an error. */
export function waitsOf(jobs: readonly JobRecord[]): string {
  const keyed = jobs.find((job) => job.idempotencyKey !== null);
  if (keyed) return `idempotency key "${keyed.idempotencyKey}"`;
  const continuation = jobs.find(isAwaiting);
  return continuation ? `parent job ${continuation.parentId}` : 'the store';
}

function isAwaiting({ state }: JobRecord): boolean {
  return state === JobState.Awaiting;
}
