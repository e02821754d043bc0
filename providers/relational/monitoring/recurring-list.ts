import {
  decodeCursor,
  InvalidCursorError,
  type Page,
  pageSize,
  type RecurringQuery,
  type RecurringSummary,
} from '../../../lib/storage';
import type { Dialect } from '../dialect';
import { type Operation, query, type Row } from '../operation';
import { RECURRING_SUMMARY_COLUMNS, recurringSummaryOf } from '../rows';
import type { Statement } from '../statement';
import { allOf, equals, type Filter, ofTenant } from './filters';
import { pageOf } from './pages';

/** Stands for the time of a definition that has none, and comes last. */
const PARKED = 'parked';

/** See IMonitoringStorage.queryRecurring. */
export function* queryRecurring(request: RecurringQuery): Operation<Page<RecurringSummary>> {
  const size = pageSize(request.limit);
  const after = request.cursor == null ? null : keyOf(request.cursor);
  const filters = [equals('queue', request.queue), ofTenant(request.tenantId)];
  // Two walks along one index: databases disagree on where nulls come in an order.
  const rows: Row[] = [];
  if (after?.time !== PARKED) rows.push(...(yield* walk(SCHEDULED, [...filters, afterScheduled(after)], size + 1)));
  const rest = size + 1 - rows.length;
  if (rest > 0) rows.push(...(yield* walk(NOT_SCHEDULED, [...filters, afterParked(after)], rest)));
  return pageOf(rows, size, recurringSummaryOf, ({ id, nextFireTime }) => [
    nextFireTime ? String(nextFireTime.getTime()) : PARKED,
    id,
  ]);
}

interface Key {
  readonly time: string;
  readonly id: string;
}

function keyOf(cursor: string): Key {
  const [time = '', id = ''] = decodeCursor(cursor, 2);
  if ((time !== PARKED && !isInstant(time)) || id.includes('\0')) throw new InvalidCursorError(cursor);
  return { time, id };
}

function isInstant(time: string): boolean {
  return /^-?\d+$/.test(time) && !Number.isNaN(new Date(Number(time)).getTime());
}

const SCHEDULED: Filter = { sql: 'next_fire_time is not null', values: {} };
const NOT_SCHEDULED: Filter = { sql: 'next_fire_time is null', values: {} };

function afterScheduled(after: Key | null): Filter | null {
  return (
    after && {
      sql: 'next_fire_time >= :time and (next_fire_time > :time or id > :after)',
      values: { time: Number(after.time), after: after.id },
    }
  );
}

function afterParked(after: Key | null): Filter | null {
  return after?.time === PARKED ? { sql: 'id > :after', values: { after: after.id } } : null;
}

function* walk(kind: Filter, filters: readonly (Filter | null)[], limit: number): Operation<readonly Row[]> {
  const { where, values } = allOf(kind, ...filters);
  return yield* query(recurringListStatement(where), { ...values, limit });
}

/** Made for each call: there are as many as there are combinations of filters. */
export function recurringListStatement(where: string): Statement {
  return {
    name: '',
    text: (d) =>
      d.select({
        columns: [
          ...RECURRING_SUMMARY_COLUMNS,
          `(${newestJob(d, 'n.id')}) as last_job_id`,
          `(${newestJob(d, 'n.state')}) as last_state`,
        ].join(', '),
        table: 'recurring_definitions',
        as: 'x',
        where,
        orderBy: 'next_fire_time, id',
        limit: ':limit',
      }),
  };
}

const newestJob = (d: Dialect, column: string) =>
  d.select({
    columns: column,
    table: 'jobs',
    as: 'n',
    where: 'n.recurring_id = x.id',
    orderBy: 'n.id desc',
    limit: '1',
  });
