import type { RetentionCutoffs } from '../../../lib/storage';
import type { Dialect } from '../dialect';

/** Rows of one table in one state, and whose cutoff applies to them. */
export interface RetainedKind {
  /** As it is persisted. */
  readonly state: number;
  readonly cutoff: keyof RetentionCutoffs;
}

/** Jobs by themselves. */
export const RETAINED_JOBS: readonly RetainedKind[] = [
  { state: 3, cutoff: 'succeeded' },
  { state: 6, cutoff: 'cancelled' },
  { state: 5, cutoff: 'dead' },
];

/** Instances, with all of their jobs. */
export const RETAINED_INSTANCES: readonly RetainedKind[] = [
  { state: 2, cutoff: 'completedInstances' },
  { state: 4, cutoff: 'completedInstances' },
  { state: 5, cutoff: 'completedInstances' },
  { state: 3, cutoff: 'failedInstances' },
];

/**
 * True for jobs `j` of no instance that may be deleted. The newest job of a recurring definition stays while that exists.
 *
 * @param before a parameter; null makes it true for none
 */
export function isPrunableJob(d: Dialect, state: number, before: string): string {
  return (
    `j.state = ${state} and j.instance_id is null and j.finished_at < ${before} and (j.recurring_id is null or ` +
    `exists (select 1 from ${d.table('jobs')} as n where n.recurring_id = j.recurring_id and n.id > j.id) or ` +
    `not exists (select 1 from ${d.table('recurring_definitions')} as x where x.id = j.recurring_id))`
  );
}

/**
 * True for instances `i` that may be deleted. One that has ended may still have jobs that run to their end.
 *
 * @param before a parameter; null makes it true for none
 */
export function isPrunableInstance(d: Dialect, state: number, before: string): string {
  return (
    `i.state = ${state} and i.finished_at < ${before} and ` +
    `not exists (select 1 from ${d.table('jobs')} as o where o.instance_id = i.id and o.finished_at is null)`
  );
}
