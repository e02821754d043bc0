import type { JobRecord } from '../../../lib/storage';
import type { Dialect } from '../dialect';
import { enqueue } from '../enqueue';
import { isStored } from '../get-job';
import { type Operation, query } from '../operation';
import { optionalEpoch } from '../rows';
import type { Statement } from '../statement';
import { givesRows } from '../upsert';

/** One planned occurrence of a definition, and what is to become of it. */
export interface Occurrence {
  readonly id: string;
  /** When it was planned: the fence. */
  readonly expected: Date;
  readonly next: Date | null;
  /** Null drops it. */
  readonly job: JobRecord | null;
  readonly now: number;
  /** An earlier run may have been committed without an answer. */
  readonly again: boolean;
}

export const fireStatements = {
  lock: {
    name: 'fire_lock',
    text: (d) =>
      d.select({
        columns: 'cron, last_fire_time',
        table: 'recurring_definitions',
        where: 'id = :id and next_fire_time = :expected',
        lock: 'skip',
      }),
  },
  moveOn: {
    name: 'fire_move_on',
    text: (d) =>
      d.update({
        table: 'recurring_definitions',
        as: 'x',
        set: 'next_fire_time = :next, last_fire_time = :fired, parked_reason = :reason, updated_at = :now',
        where: 'x.id = :id',
        returning: ['id'],
      }),
  },
  movedTo: {
    name: 'fire_moved_to',
    text: (d) =>
      d.select({ columns: 'id', table: 'recurring_definitions', where: 'id = :id and next_fire_time = :next' }),
  },
  park: {
    name: 'park_recurring',
    text: (d) =>
      d.update({
        table: 'recurring_definitions',
        as: 'x',
        set: 'next_fire_time = null, parked_reason = :reason, updated_at = :now',
        where: 'x.id = :id and x.next_fire_time = :expected',
        returning: ['id'],
      }),
  },
} satisfies Record<string, Statement>;

/**
 * Fires or drops one occurrence. See IJobStorage.tryFireRecurring.
 *
 * A definition that somebody holds is not waited for: whoever holds it fires it, or the next pass finds it again.
 */
export function* tryFireRecurring(d: Dialect, occurrence: Occurrence): Operation<boolean> {
  const { id, expected, next, job, now, again } = occurrence;
  if (again && (yield* tookPlace(occurrence))) return true;
  const [row] = yield* query(fireStatements.lock, { id, expected: expected.getTime() });
  if (!row) return false;

  const firedBefore = row['last_fire_time'] == null ? null : Number(row['last_fire_time']);
  yield* query(fireStatements.moveOn, {
    id,
    next: optionalEpoch(next),
    fired: job ? expected.getTime() : firedBefore,
    reason: next ? null : `"${String(row['cron'])}" has no further occurrence.`,
    now,
  });
  if (job) yield* enqueue(d, [job], now, false);
  return true;
}

/** Whether an earlier run was committed: its job tells; without one, that the definition has moved where it should. */
function* tookPlace({ id, next, job }: Occurrence): Operation<boolean> {
  if (job) return yield* isStored(job.id);
  return next !== null && (yield* givesRows(fireStatements.movedTo, { id, next: next.getTime() }));
}

/** Takes a definition out of the schedule. See IJobStorage.parkRecurring. */
export function* parkRecurring(id: string, expected: Date, reason: string, now: number): Operation<boolean> {
  return yield* givesRows(fireStatements.park, { id, expected: expected.getTime(), reason, now });
}
