import type { JobId } from '../model/ids';
import type { JobRecord } from '../model/job';
import type { IJobStorage } from '../storage/job-storage';
import { LockTimeoutError, OutcomeUnknownError } from '../storage/storage.errors';

interface Waiting {
  readonly job: JobRecord;
  readonly resolve: (id: JobId) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_BYTES = 8 * 2 ** 20;
const MAX_JOBS = 1000;
const RECORD_BYTES = 512; // what a row weighs beside its payload, roughly

/**
 * Stores jobs that are enqueued at the same time together: one call to the store at a time, and whatever is enqueued while
 * it runs goes into the next. An idle application pays no delay for it, a busy one gets hundreds of jobs per commit.
 *
 * Only for jobs without key, parent and transaction: those can be refused, or wait for somebody's lock, and that must not
 * befall their neighbours.
 */
export class EnqueueCoalescer {
  private waiting: Waiting[] = [];
  private draining: Promise<void> | undefined;

  constructor(private readonly storage: IJobStorage) {}

  enqueue(job: JobRecord): Promise<JobId> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      this.draining ??= this.drain();
    });
  }

  /** Settles when nothing is on its way to the store. */
  async idle(): Promise<void> {
    await this.draining;
  }

  private async drain(): Promise<void> {
    await Promise.resolve(); // callers of one turn of the event loop share the first call
    while (this.waiting.length > 0) await this.store(this.takeBatch());
    this.draining = undefined;
  }

  private takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { job } of this.waiting) {
      bytes += sizeOf(job);
      if (count > 0 && (bytes > MAX_BYTES || count === MAX_JOBS)) break;
      count++;
    }
    return this.waiting.splice(0, count);
  }

  /** One that cannot be stored fails alone: halves are tried until it is found. */
  private async store(batch: readonly Waiting[]): Promise<void> {
    try {
      const ids = await this.storage.enqueue(batch.map(({ job }) => job));
      batch.forEach(({ job, resolve }, position) => resolve(ids[position] ?? job.id));
    } catch (error) {
      if (batch.length === 1 || !(await this.isAboutData(error, batch))) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const half = batch.length >> 1;
      await this.store(batch.slice(0, half));
      await this.store(batch.slice(half));
    }
  }

  /** Whether the store works otherwise, so that it must be the jobs. */
  private async isAboutData(error: unknown, batch: readonly Waiting[]): Promise<boolean> {
    if (error instanceof OutcomeUnknownError || error instanceof LockTimeoutError) return false;
    try {
      await this.storage.hasClaimable(batch.slice(0, 1).map(({ job }) => job.queue));
      return true;
    } catch {
      return false;
    }
  }
}

function sizeOf(job: JobRecord): number {
  return RECORD_BYTES + 3 * (job.args.length + (job.argTypes?.length ?? 0));
}
