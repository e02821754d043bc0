import { later, MINUTE, type RecurringDefinition, RecurringTenantError } from '../../../lib/storage';
import { insertRows } from '../insert-rows';
import { type Operation, query } from '../operation';
import { RECURRING_COLUMNS, recurringOf, recurringToRow } from '../rows';
import { typesOf } from '../schema/tables';
import type { Statement } from '../statement';
import { givesRows } from '../upsert';

const COLUMNS = RECURRING_COLUMNS.join(', ');
const REPLACED = RECURRING_COLUMNS.filter((column) => column !== 'id' && column !== 'created_at');

export const recurringStatements = {
  get: {
    name: 'get_recurring',
    text: (d) => d.select({ columns: COLUMNS, table: 'recurring_definitions', where: 'id = :id' }),
  },
  lock: {
    name: 'lock_recurring',
    text: (d) => d.select({ columns: COLUMNS, table: 'recurring_definitions', where: 'id = :id', lock: 'wait' }),
  },
  insertUnlessTaken: {
    name: 'insert_recurring',
    text: (d) =>
      insertRows(d, {
        table: 'recurring_definitions',
        columns: RECURRING_COLUMNS,
        rows: ':definition',
        unlessTaken: 'id',
        returning: ['id'],
      }),
  },
  replace: {
    name: 'replace_recurring',
    text: (d) =>
      d.update({
        table: 'recurring_definitions',
        as: 'x',
        set: REPLACED.map((column) => `${column} = r.${column}`).join(', '),
        from: d.rowset(':definition', typesOf('recurring_definitions', RECURRING_COLUMNS), 'r'),
        where: 'x.id = :id',
        returning: ['id'],
      }),
  },
  remove: {
    name: 'remove_recurring',
    text: (d) => d.delete({ table: 'recurring_definitions', as: 'x', where: 'x.id = :id', returning: ['id'] }),
  },
  due: {
    name: 'due_recurring',
    text: (d) =>
      d.select({
        columns: COLUMNS,
        table: 'recurring_definitions',
        where: 'next_fire_time <= :now',
        orderBy: 'next_fire_time, id',
        limit: ':limit',
      }),
  },
} satisfies Record<string, Statement>;

/** Creates or replaces a definition: locks it, decides, writes. See IJobStorage.upsertRecurring. */
export function* upsertRecurring(definition: RecurringDefinition): Operation<void> {
  const { id } = definition;
  for (;;) {
    const [row] = yield* query(recurringStatements.lock, { id });
    if (row) {
      const merged = mergedWith(recurringOf(row), definition);
      yield* query(recurringStatements.replace, { id, definition: JSON.stringify([recurringToRow(merged)]) });
      return;
    }
    // Where it is taken after all, another node has stored it in between: decide anew against that.
    if (
      yield* givesRows(recurringStatements.insertUnlessTaken, {
        definition: JSON.stringify([recurringToRow(definition)]),
      })
    )
      return;
  }
}

function mergedWith(stored: RecurringDefinition, definition: RecurringDefinition): RecurringDefinition {
  if (stored.tenantId !== definition.tenantId) throw new RecurringTenantError(definition.id);
  const { createdAt, lastFireTime } = stored;
  return { ...definition, createdAt, lastFireTime, nextFireTime: nextFireTimeOf(stored, definition) };
}

function nextFireTimeOf(stored: RecurringDefinition, definition: RecurringDefinition): Date | null {
  const { nextFireTime: planned, lastFireTime: fired } = stored;
  if (stored.cron === definition.cron && planned) return planned;
  const next = definition.nextFireTime;
  if (fired === null || next === null || next > fired) return next;
  // Computed by a clock that was set back: what has fired never comes again.
  return planned ?? later(fired, MINUTE);
}

/** See IJobStorage.getRecurring. */
export function* getRecurring(id: string): Operation<RecurringDefinition | null> {
  const [row] = yield* query(recurringStatements.get, { id });
  return row ? recurringOf(row) : null;
}

/** See IJobStorage.removeRecurring. */
export function* removeRecurring(id: string): Operation<void> {
  yield* query(recurringStatements.remove, { id });
}

/** See IJobStorage.getDueRecurring. */
export function* getDueRecurring(limit: number, now: number): Operation<RecurringDefinition[]> {
  if (limit <= 0) return [];
  return (yield* query(recurringStatements.due, { limit, now })).map(recurringOf);
}
