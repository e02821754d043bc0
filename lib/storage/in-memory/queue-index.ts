import { type JobRecord, SUSPECT_INTERRUPTIONS } from '../../model/job';
import { Heap } from './heap';
import { claimedBefore, displace, place, placedBefore, type StoredJob } from './stored-job';

/** Where the jobs of one queue stand that can be claimed or are claimed. */
export class QueueIndex {
  /** Enqueued. */
  readonly ready = new Heap<StoredJob>(claimedBefore);
  readonly readySuspects = new Heap<StoredJob>(claimedBefore);
  /** Processing, by the end of the lease. */
  private readonly leased = new Heap<StoredJob>(placedBefore);
  /** Processing past its lease, in the order of claims; current after {@link findExpired}. */
  readonly expired = new Heap<StoredJob>(claimedBefore);
  /** Those that are suspects once somebody has taken them over. */
  readonly expiredSuspects = new Heap<StoredJob>(claimedBefore);

  get isEmpty(): boolean {
    return this.ready.size + this.readySuspects.size + this.leased.size + this.allExpired === 0;
  }

  get allExpired(): number {
    return this.expired.size + this.expiredSuspects.size;
  }

  enqueue(job: StoredJob): void {
    const { interruptions } = job.record;
    place(job, interruptions >= SUSPECT_INTERRUPTIONS ? this.readySuspects : this.ready, claimableSince(job.record));
  }

  lease(job: StoredJob): void {
    if (job.record.leaseUntil) place(job, this.leased, job.record.leaseUntil);
  }

  /** Sorts out whose lease has ended by `now`, and whose has not: a clock can be set back. */
  findExpired(now: Date): void {
    for (let job = this.leased.peek(); job && job.at <= now.getTime(); job = this.leased.peek()) {
      const { interruptions } = job.record;
      displace(job);
      place(
        job,
        interruptions + 1 >= SUSPECT_INTERRUPTIONS ? this.expiredSuspects : this.expired,
        claimableSince(job.record),
      );
    }
    for (const heap of [this.expired, this.expiredSuspects]) {
      for (let job = heap.peek(); job && isLeasedAt(job.record, now); job = heap.peek()) {
        displace(job);
        this.lease(job);
      }
    }
  }
}

function claimableSince(job: JobRecord): Date {
  return job.readyAt ?? job.createdAt;
}

function isLeasedAt(job: JobRecord, now: Date): boolean {
  return job.leaseUntil !== null && job.leaseUntil > now;
}
