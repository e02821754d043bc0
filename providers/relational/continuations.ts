import type { JobId } from '../../lib/storage';
import type { Dialect, LockMode } from './dialect';
import { type Operation, query, type Row } from './operation';
import type { Statement } from './statement';

const CHILDREN = {
  columns: 'id, parent_id, has_continuations',
  table: 'jobs',
  orderBy: 'id',
} as const;

const awaiting = (d: Dialect) =>
  `${d.inList('parent_id', ':parents', 'id')} and parent_id is not null and state + 0 = 7`;

export const continuationStatements = {
  read: {
    name: 'read_continuations',
    text: (d) => d.select({ ...CHILDREN, where: awaiting(d) }),
  },
  lock: {
    name: 'lock_continuations',
    text: (d) => d.select({ ...CHILDREN, where: awaiting(d), lock: 'wait' }),
  },
  lockFree: {
    name: 'lock_free_continuations',
    text: (d) => d.select({ ...CHILDREN, where: awaiting(d), lock: 'skip' }),
  },
  cancel: {
    name: 'cancel_jobs',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set: 'state = 6, finished_at = :now, due_at = null, lease_until = null, worker_id = null, active_key = null',
        where: d.inList('j.id', ':ids', 'id'),
        returning: ['id'],
      }),
  },
  activate: {
    name: 'activate_continuations',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set: 'state = 1, ready_at = :now, due_at = null',
        where: d.inList('j.id', ':ids', 'id'),
        returning: ['id', 'queue'],
      }),
  },
} satisfies Record<string, Statement>;

/** What was locked below some jobs, the roots. */
export interface LockedContinuations {
  /** Awaiting jobs by root, parents before children; empty for a root without any, absent for a held one. */
  readonly closure: ReadonlyMap<JobId, readonly JobId[]>;
  /** Roots below which somebody holds a row that would have to change. Only with `skip`. */
  readonly heldRoots: ReadonlySet<JobId>;
}

/**
 * Locks everything that waits for these jobs, directly or through other Awaiting jobs: what dies with them.
 *
 * The caller holds the locks of the roots. Goes level by level, since whoever adds a continuation locks its parent
 * first: what was added before a row was locked here is found one level on, and nothing is added after.
 */
export function* lockClosure(rootIds: readonly JobId[], mode: LockMode): Operation<LockedContinuations> {
  return yield* lockLevels(rootIds, mode, Infinity);
}

/** Locks what waits directly for these jobs: what their success lets run. The caller holds the locks of the roots. */
export function* lockDirectChildren(rootIds: readonly JobId[], mode: LockMode): Operation<LockedContinuations> {
  return yield* lockLevels(rootIds, mode, 1);
}

/** Cancels jobs whose rows are locked and that have not started. */
export function* cancelJobs(ids: readonly JobId[], now: number): Operation<void> {
  if (ids.length > 0) yield* query(continuationStatements.cancel, { ids: JSON.stringify(ids), now });
}

/**
 * Makes Awaiting jobs whose rows are locked claimable.
 *
 * @returns their queues, to be signalled
 */
export function* activateContinuations(ids: readonly JobId[], now: number): Operation<string[]> {
  if (ids.length === 0) return [];
  const rows = yield* query(continuationStatements.activate, { ids: JSON.stringify(ids), now });
  return [...new Set(rows.map((row) => String(row['queue'])))];
}

function* lockLevels(rootIds: readonly JobId[], mode: LockMode, levels: number): Operation<LockedContinuations> {
  const closure = new Map<JobId, JobId[]>(rootIds.map((id) => [id, []]));
  const heldRoots = new Set<JobId>();
  let rootOf = new Map<JobId, JobId>(rootIds.map((id) => [id, id]));

  for (let level = 0; level < levels && rootOf.size > 0; level++) {
    const { locked, heldParents } = yield* lockLevel([...rootOf.keys()], mode);
    for (const parent of heldParents) {
      const root = rootOf.get(parent) ?? parent;
      heldRoots.add(root);
      closure.delete(root);
    }
    const next = new Map<JobId, JobId>();
    for (const row of locked) {
      const id = String(row['id']);
      const root = rootOf.get(String(row['parent_id']));
      if (root === undefined || heldRoots.has(root)) continue;
      closure.get(root)?.push(id);
      if (Number(row['has_continuations']) === 1) next.set(id, root);
    }
    rootOf = next;
  }
  return { closure, heldRoots };
}

function* lockLevel(
  parentIds: readonly JobId[],
  mode: LockMode,
): Operation<{ readonly locked: readonly Row[]; readonly heldParents: readonly JobId[] }> {
  const values = { parents: JSON.stringify(parentIds) };
  if (mode === 'wait') return { locked: yield* query(continuationStatements.lock, values), heldParents: [] };

  const present = yield* query(continuationStatements.read, values);
  if (present.length === 0) return { locked: [], heldParents: [] };
  const locked = yield* query(continuationStatements.lockFree, values);
  const ids = new Set(locked.map((row) => String(row['id'])));
  const missing = present.filter((row) => !ids.has(String(row['id'])));
  return { locked, heldParents: missing.map((row) => String(row['parent_id'])) };
}
