import type { RetentionCutoffs } from '../../../lib/storage';
import { bookmarkStatements } from '../bookmarks';
import { deleteLocked } from '../delete-job';
import { removeStaleNodes } from '../nodes';
import { type Operation, query, type Row } from '../operation';
import type { Statement } from '../statement';
import { isPrunableInstance, isPrunableJob, RETAINED_INSTANCES, RETAINED_JOBS } from './past-retention';

const JOBS = RETAINED_JOBS.map(({ state, cutoff }) => ({
  cutoff,
  lock: {
    name: `prune_lock_jobs_${state}`,
    text: (d) =>
      d.select({
        columns: 'j.id',
        table: 'jobs',
        as: 'j',
        where: isPrunableJob(d, state, ':before'),
        orderBy: 'j.finished_at',
        limit: ':limit',
        lock: 'skip',
      }),
  } satisfies Statement,
}));

const INSTANCES = RETAINED_INSTANCES.map(({ state, cutoff }) => ({
  cutoff,
  lock: {
    name: `prune_lock_instances_${state}`,
    text: (d) =>
      d.select({
        columns: 'i.id',
        table: 'workflow_instances',
        as: 'i',
        where: isPrunableInstance(d, state, ':before'),
        orderBy: 'i.finished_at',
        limit: ':limit',
        lock: 'skip',
      }),
  } satisfies Statement,
}));

const instanceStatements = {
  lockJobs: {
    name: 'prune_lock_jobs_of_instances',
    text: (d) =>
      d.select({
        columns: 'id',
        table: 'jobs',
        where: d.inList('instance_id', ':instanceIds', 'id'),
        limit: ':limit',
        lock: 'skip',
      }),
  },
  removeEmpty: {
    name: 'prune_instances_without_jobs',
    text: (d) =>
      d.delete({
        table: 'workflow_instances',
        as: 'i',
        where:
          `${d.inList('i.id', ':instanceIds', 'id')} and ` +
          `not exists (select 1 from ${d.table('jobs')} as j where j.instance_id = i.id)`,
        returning: ['id'],
      }),
  },
} satisfies Record<string, Statement>;

export const pruneStatements: Readonly<Record<string, Statement>> = {
  ...Object.fromEntries([...JOBS, ...INSTANCES].map(({ lock }) => [lock.name, lock])),
  ...instanceStatements,
};

/** Most instances have a few jobs; one that has many goes in several steps. */
const MOST_INSTANCES = 100;

/**
 * Deletes a bounded number of what has passed its retention, skipping what somebody has locked. See IJobStorage.prune.
 * Forgets nodes, too, that vanished long ago.
 */
export function* prune(cutoffs: RetentionCutoffs, limit: number, now: number): Operation<number> {
  let left = limit;
  for (const { cutoff, lock } of JOBS) left -= yield* pruneJobs(lock, cutoffs[cutoff], left);
  for (const { cutoff, lock } of INSTANCES) left -= yield* pruneInstances(lock, cutoffs[cutoff], left);
  yield* removeStaleNodes(now);
  return limit - left;
}

function* pruneJobs(lock: Statement, before: Date | null, limit: number): Operation<number> {
  const ids = yield* lockSome(lock, before, limit);
  yield* deleteLocked(ids);
  return ids.length;
}

/** Jobs first, and an instance once none of its own is left. */
function* pruneInstances(lock: Statement, before: Date | null, limit: number): Operation<number> {
  const instances = yield* lockSome(lock, before, Math.min(limit, MOST_INSTANCES));
  if (instances.length === 0) return 0;
  const instanceIds = JSON.stringify(instances);
  const jobs = idsOf(yield* query(instanceStatements.lockJobs, { instanceIds, limit }));
  yield* deleteLocked(jobs);
  const removed = idsOf(yield* query(instanceStatements.removeEmpty, { instanceIds }));
  if (removed.length > 0) {
    yield* query(bookmarkStatements.removeOfInstances, { instanceIds: JSON.stringify(removed) });
  }
  return jobs.length + removed.length;
}

function* lockSome(lock: Statement, before: Date | null, limit: number): Operation<string[]> {
  if (before === null || limit <= 0) return [];
  return idsOf(yield* query(lock, { before: before.getTime(), limit }));
}

function idsOf(rows: readonly Row[]): string[] {
  return rows.map((row) => String(row['id']));
}
