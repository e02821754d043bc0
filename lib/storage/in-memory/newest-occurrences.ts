import { Groups } from './groups';
import type { StoredJob } from './stored-job';

/** The newest job of every recurring definition that exists: it tells how the definition fares, so it is kept. */
export class NewestOccurrences {
  private readonly jobs = new Groups<string, StoredJob>();
  private readonly kept = new Map<string, StoredJob | undefined>();

  /** @param changed is told of a job that is kept from now on, or no longer */
  constructor(private readonly changed: (job: StoredJob) => void) {}

  get(recurringId: string): StoredJob | undefined {
    return this.kept.get(recurringId);
  }

  isKept(job: StoredJob): boolean {
    return job.record.recurringId !== null && this.kept.get(job.record.recurringId) === job;
  }

  keep(recurringId: string, keep: boolean): void {
    const before = this.kept.get(recurringId);
    if (keep) this.kept.set(recurringId, newestOf(this.jobs.get(recurringId)));
    else this.kept.delete(recurringId);
    this.announce(before, this.kept.get(recurringId));
  }

  add(recurringId: string, job: StoredJob): void {
    this.jobs.add(recurringId, job);
    const before = this.kept.get(recurringId);
    if (!this.kept.has(recurringId) || (before && before.record.id > job.record.id)) return;
    this.kept.set(recurringId, job);
    this.announce(before, job);
  }

  delete(recurringId: string, job: StoredJob): void {
    this.jobs.delete(recurringId, job);
    if (this.kept.get(recurringId) !== job) return;
    const next = newestOf(this.jobs.get(recurringId));
    this.kept.set(recurringId, next);
    if (next) this.changed(next);
  }

  private announce(before: StoredJob | undefined, after: StoredJob | undefined): void {
    if (before === after) return;
    if (before) this.changed(before);
    if (after) this.changed(after);
  }
}

function newestOf(jobs: ReadonlySet<StoredJob>): StoredJob | undefined {
  let newest: StoredJob | undefined;
  for (const job of jobs) if (!newest || job.record.id > newest.record.id) newest = job;
  return newest;
}
