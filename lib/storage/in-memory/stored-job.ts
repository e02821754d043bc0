import type { JobRecord } from '../../model/job';
import type { JobAttempt } from '../../model/job-attempt';
import type { Heap, HeapMember } from './heap';

/** A job and its history as the store holds them. */
export interface StoredJob extends HeapMember {
  /** Replaced, never changed: taking a write back puts the previous record in again. */
  record: JobRecord;
  /** By attempt, oldest first. Replaced, never changed. */
  attempts: readonly JobAttempt[];
  /** The heap that it stands in; its state gives it one place at most. */
  heap: Heap<StoredJob> | null;
  /** What it is ordered by in that heap: an instant in milliseconds. */
  at: number;
  /** Of those placed at one instant, who was placed first. */
  turn: number;
  /** The record's, at hand for comparisons. */
  readonly id: string;
  readonly priority: number;
}

export function storedJob(record: JobRecord): StoredJob {
  const { id, priority } = record;
  return { record, attempts: [], heap: null, slot: 0, at: 0, turn: 0, id, priority };
}

let turns = 0;

export function place(job: StoredJob, heap: Heap<StoredJob>, at: Date): void {
  job.heap = heap;
  job.at = at.getTime();
  job.turn = turns++;
  heap.push(job);
}

export function displace(job: StoredJob): void {
  job.heap?.remove(job);
  job.heap = null;
}

/** Priority, then age, then id: the order of claims over all queues. */
export function claimedBefore(a: StoredJob, b: StoredJob): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  return dueBefore(a, b);
}

export function dueBefore(a: StoredJob, b: StoredJob): boolean {
  return a.at === b.at ? a.id < b.id : a.at < b.at;
}

export function placedBefore(a: StoredJob, b: StoredJob): boolean {
  return a.at === b.at ? a.turn < b.turn : a.at < b.at;
}
