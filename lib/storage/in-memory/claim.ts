import type { ClaimedJob, JobRecord } from '../../model/job';
import { AttemptOutcome, type JobAttempt } from '../../model/job-attempt';
import { JobState } from '../../model/job-state';
import { later } from '../../model/time';
import type { ClaimRequest } from '../job-storage';
import { copyClaimed } from './copies';
import type { Heap } from './heap';
import { claimedBefore, type StoredJob } from './stored-job';
import type { Tables } from './tables';

/** Takes jobs for a worker, in the order of claims over all of its queues. */
export function claim(tables: Tables, request: ClaimRequest, now: Date): ClaimedJob[] {
  const { workerId, limit, maxPayload } = request;
  const leaseUntil = later(now, request.leaseDuration);
  const sources = sourcesOf(tables, request, now);
  const claimed: ClaimedJob[] = [];
  let payload = 0;
  let heaps = request.suspects ? [...sources.sound, ...sources.suspect] : sources.sound;
  while (claimed.length < limit) {
    const source = firstOf(heaps);
    const job = source?.peek();
    if (source === undefined || job === undefined) break;
    payload += payloadOf(job.record);
    if (claimed.length > 0 && payload > maxPayload) break;
    if (sources.suspect.includes(source)) heaps = sources.sound;
    take(tables, job, workerId, leaseUntil, now);
    claimed.push(copyClaimed(job.record));
  }
  return claimed;
}

/** Whether a claim of these queues would find an Enqueued job that is no suspect. */
export function hasClaimable({ jobs, queues }: Tables, names: readonly string[]): boolean {
  return names.some((name) => queues.get(name) !== true && (jobs.queue(name)?.ready.size ?? 0) > 0);
}

function sourcesOf({ jobs, queues }: Tables, request: ClaimRequest, now: Date) {
  const sound: Heap<StoredJob>[] = [];
  const suspect: Heap<StoredJob>[] = [];
  for (const name of new Set(request.queues)) {
    const queue = jobs.queue(name);
    if (queue === undefined || queues.get(name) === true) continue;
    sound.push(queue.ready);
    suspect.push(queue.readySuspects);
    if (!request.expired) continue;
    queue.findExpired(now);
    sound.push(queue.expired);
    suspect.push(queue.expiredSuspects);
  }
  return { sound, suspect };
}

function firstOf(heaps: readonly Heap<StoredJob>[]): Heap<StoredJob> | undefined {
  let first: Heap<StoredJob> | undefined;
  for (const heap of heaps) {
    const [job, best] = [heap.peek(), first?.peek()];
    if (job && (best === undefined || claimedBefore(job, best))) first = heap;
  }
  return first;
}

function take({ jobs }: Tables, job: StoredJob, workerId: string, leaseUntil: Date, now: Date): void {
  const { record } = job;
  const taken = { ...record, state: JobState.Processing, workerId, leaseUntil, attempt: record.attempt + 1 };
  if (record.state !== JobState.Processing) {
    jobs.update(job, taken);
    return;
  }
  // Its owner vanished, and cannot say so itself.
  const lost: JobAttempt = {
    attempt: record.attempt,
    outcome: AttemptOutcome.Interrupted,
    recordedAt: now,
    workerId: record.workerId,
    error: null,
  };
  jobs.update(job, { ...taken, interruptions: record.interruptions + 1 }, lost);
}

function payloadOf({ args, argTypes }: JobRecord): number {
  return args.length + (argTypes?.length ?? 0);
}
