import type { RetentionCutoffs } from '../job-storage';
import type { Heap, HeapMember } from './heap';
import type { StoredInstance } from './instance-table';
import type { Tables } from './tables';

interface Finished extends HeapMember {
  /** When it ended, in milliseconds. */
  readonly at: number;
}

/** Deletes at most about `limit` jobs and instances that have passed their retention. */
export function prune(tables: Tables, cutoffs: RetentionCutoffs, limit: number): number {
  const { jobs, instances } = tables;
  const { succeeded, cancelled, dead, completedInstances, failedInstances } = cutoffs;
  let left = limit;
  const take = <T extends Finished>(heap: Heap<T>, cutoff: Date | null, remove: (member: T) => number): void => {
    for (let next = past(heap, cutoff); next && left > 0; next = past(heap, cutoff)) left -= remove(next);
  };
  const removeJob = (job: Parameters<typeof jobs.remove>[0]): number => {
    jobs.remove(job);
    return 1;
  };
  take(jobs.finished.Succeeded, succeeded, removeJob);
  take(jobs.finished.Cancelled, cancelled, removeJob);
  take(jobs.finished.Dead, dead, removeJob);
  take(instances.finished.completed, completedInstances, (instance) => removeInstance(tables, instance));
  take(instances.finished.failed, failedInstances, (instance) => removeInstance(tables, instance));
  return limit - left;
}

export function isPrunable({ jobs, instances }: Tables, cutoffs: RetentionCutoffs): boolean {
  return (
    past(jobs.finished.Succeeded, cutoffs.succeeded) !== undefined ||
    past(jobs.finished.Cancelled, cutoffs.cancelled) !== undefined ||
    past(jobs.finished.Dead, cutoffs.dead) !== undefined ||
    past(instances.finished.completed, cutoffs.completedInstances) !== undefined ||
    past(instances.finished.failed, cutoffs.failedInstances) !== undefined
  );
}

/**
 * Keeps memory flat: deletes what ended first until at most `keep` finished jobs are left. An instance goes with all of
 * its jobs; alone it stays however many these are, so that a large workflow is not gone with its last step.
 */
export function evictFinished(tables: Tables, keep: number): void {
  const { jobs, instances } = tables;
  while (jobs.finishedSize + instances.finishedJobs > keep) {
    const job = oldest(jobs.finished.Succeeded, jobs.finished.Dead, jobs.finished.Cancelled);
    const instance = oldest(instances.finished.completed, instances.finished.failed);
    if (job && !(instance && instance.at < job.at)) jobs.remove(job);
    else if (instance && (job || instances.finishedSize > 1)) removeInstance(tables, instance);
    else return;
  }
}

function removeInstance({ jobs, instances, bookmarks }: Tables, instance: StoredInstance): number {
  const { id } = instance.record;
  const removed = [...jobs.ofInstance(id)];
  instances.remove(instance);
  for (const bookmark of bookmarks.ofInstance(id)) bookmarks.remove(bookmark.id);
  for (const job of removed) jobs.remove(job);
  return removed.length + 1;
}

function past<T extends Finished>(heap: Heap<T>, cutoff: Date | null): T | undefined {
  const first = heap.peek();
  return first && cutoff && first.at < cutoff.getTime() ? first : undefined;
}

function oldest<T extends Finished>(...heaps: readonly Heap<T>[]): T | undefined {
  let found: T | undefined;
  for (const heap of heaps) {
    const first = heap.peek();
    if (first && (found === undefined || first.at < found.at)) found = first;
  }
  return found;
}
