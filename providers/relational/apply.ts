import { JOB_STATE_CODES, type JobTransition, type TransitionResult } from '../../lib/storage';
import type { Dialect, SelectParts } from './dialect';
import { type Operation, query, type Row } from './operation';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

const FENCE_COLUMNS = 'id, state, worker_id, attempt, has_continuations, closing, queue, position, scope';

/** Fence, skip what is held, and leave parents of continuations to the full way, all in one statement. */
const succeedWhere = (d: Dialect, attempts: Pick<SelectParts, 'join' | 'where'>) =>
  d.update({
    table: 'jobs',
    as: 'j',
    set: 'state = 3, finished_at = :now, worker_id = null, lease_until = null, active_key = null',
    // By id; `+ 0` keeps planners from walking the partial index of running jobs as well.
    where: `j.state + 0 = 2 and ${d.inSelect(
      'j.id',
      d.select({
        columns: 'k.id',
        table: 'jobs',
        as: 'k',
        ...attempts,
        where: `k.state + 0 = 2 and k.worker_id = :workerId and k.has_continuations = 0 and ${attempts.where}`,
        lock: 'skip',
      }),
    )}`,
    returning: ['id'],
  });

export const applyStatements = {
  /** The usual case: nearly all jobs succeed at their first attempt. */
  succeedAtOneAttempt: {
    name: 'apply_succeeded_at_one',
    text: (d) => succeedWhere(d, { where: `k.attempt = :attempt and ${d.inList('k.id', ':ids', 'id')}` }),
  },
  succeed: {
    name: 'apply_succeeded',
    text: (d) =>
      succeedWhere(d, {
        join: `join ${d.rowset(':claims', typesOf('jobs', ['id', 'attempt']), 'r')} on r.id = k.id and r.attempt = k.attempt`,
        where: d.narrowTo('k.id', ':ids'),
      }),
  },
  lockJobs: {
    name: 'apply_lock_jobs',
    text: (d) =>
      d.select({
        columns: FENCE_COLUMNS,
        table: 'jobs',
        where: d.inList('id', ':ids', 'id'),
        orderBy: 'id',
        lock: 'skip',
      }),
  },
  reread: {
    name: 'apply_reread',
    text: (d) => d.select({ columns: FENCE_COLUMNS, table: 'jobs', where: d.inList('id', ':ids', 'id') }),
  },
} satisfies Record<string, Statement>;

/** Where a transition stands against the row of its job. */
export type Standing = 'owned' | 'applied' | 'fenced';

/**
 * Compares a transition with its job's row.
 *
 * A row that is in the transition's target state for the same attempt was put there by this very transition, sent before:
 * attempts are never given out twice, and nothing else moves a claimed job into that state.
 */
export function standingOf(transition: JobTransition, row: Row | undefined): Standing {
  if (!row || Number(row['attempt']) !== transition.attempt) return 'fenced';
  const state = Number(row['state']);
  if (state === JOB_STATE_CODES.Processing) return row['worker_id'] === transition.workerId ? 'owned' : 'fenced';
  return state === JOB_STATE_CODES[transition.target] ? 'applied' : 'fenced';
}

/** A success that moves nothing but its own job; a step of a workflow has its place among the others of its instance. */
export function isPlainSuccess(transition: JobTransition): boolean {
  return (
    transition.target === 'Succeeded' &&
    transition.instanceId === null &&
    transition.advance === null &&
    transition.enqueue.length === 0 &&
    transition.error === null &&
    transition.history === null
  );
}

/**
 * Applies plain successes of one worker.
 *
 * @returns one answer per transition, by position; null for a job that has continuations and needs the full way
 */
export function* succeed(
  transitions: readonly JobTransition[],
  workerId: string,
  now: number,
): Operation<(TransitionResult | null)[]> {
  const common = { ids: idsOf(transitions), workerId, now };
  const attempt = transitions[0]?.attempt ?? 0;
  const rows = transitions.every((transition) => transition.attempt === attempt)
    ? yield* query(applyStatements.succeedAtOneAttempt, { ...common, attempt })
    : yield* query(applyStatements.succeed, { ...common, claims: claimsOf(transitions) });
  if (rows.length === transitions.length) return transitions.map(() => APPLIED);

  const applied = new Set(rows.map((row) => row['id']));
  const missing = transitions.filter(({ id }) => !applied.has(id));
  const reread = byId(yield* query(applyStatements.reread, { ids: idsOf(missing) }));
  return transitions.map((transition) => {
    if (applied.has(transition.id)) return APPLIED;
    const row = reread.get(transition.id);
    const standing = standingOf(transition, row);
    if (standing !== 'owned') return standing === 'applied' ? APPLIED : FENCED;
    return Number(row?.['has_continuations']) === 0 ? HELD : null;
  });
}

export const APPLIED: TransitionResult = { outcome: 'applied' };
export const FENCED: TransitionResult = { outcome: 'fenced' };
export const HELD: TransitionResult = { outcome: 'held' };

export function idsOf(items: readonly { readonly id: string }[]): string {
  return JSON.stringify(items.map(({ id }) => id));
}

function claimsOf(transitions: readonly JobTransition[]): string {
  return JSON.stringify(transitions.map(({ id, attempt }) => ({ id, attempt })));
}

export function byId(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [String(row['id']), row]));
}
