import type { ColumnType, TableName } from '../relational/schema/tables';
import { type Dialect, type ErrorKind, type InsertParts, MEMBERS, type RowsetColumns } from '../relational/dialect';
import { standardSql } from '../relational/standard-sql';
import { channelOf } from './postgres.channel';

const TYPES: Record<Exclude<ColumnType, `text(${number})`>, string> = {
  id: 'uuid',
  small: 'smallint',
  int: 'integer',
  big: 'bigint',
  text: 'text',
};
// Text is compared by byte, which is by code point, so equality and order depend on no locale of the server.
const typeOf = (type: ColumnType) => (type in TYPES ? TYPES[type as keyof typeof TYPES] : 'text');
const typed = (columns: RowsetColumns) => Object.entries(columns).map(([name, type]) => `${name} ${typeOf(type)}`);
const named = (alias: string, columns: RowsetColumns) => Object.keys(columns).map((name) => `${alias}.${name}`);

/** Wakes the workers of a queue, which is an expression. */
const notify = (schema: string, queue: string) => `pg_notify('${channelOf(schema)}', 'r' || ${queue})`;

/** PostgreSQL 14 and newer. */
export function postgresDialect(schema: string): Dialect {
  const table = (name: TableName) => `"${schema}"."${name}"`;
  const sql = standardSql(
    table,
    ({ table: name, as, lock }) => {
      if (lock === 'share') return `for share of ${as ?? name}`;
      return lock === 'skip' ? `for update of ${as ?? name} skip locked` : `for update of ${as ?? name}`;
    },
    (as, column) => `${as}.${column}`, // a rowset beside the table may have a column of that name
  );

  return {
    provider: 'postgres',
    table,
    columnType: (type) => (type.startsWith('text') ? 'text collate "C"' : typeOf(type)),
    tableSuffix: ({ fillFactor }) => (fillFactor ? ` with (fillfactor = ${fillFactor})` : ''),
    indexName: (name) => `"${name}"`,
    createSchema: [`create schema if not exists "${schema}"`],
    schemaLock: `select pg_advisory_xact_lock(hashtextextended('millrace schema ${schema}', 0)) as locked`,
    // Not to_regclass: it may answer from a cache that does not know yet what was committed while we waited for the lock.
    tableExists: (name) =>
      `select 1 as found from pg_catalog.pg_tables where schemaname = '${schema}' and tablename = '${name}'`,
    placeholders: { reused: true, at: (index) => `$${index + 1}` },

    rowset: (parameter, columns, alias) =>
      `jsonb_to_recordset(${parameter}::jsonb) as ${alias}(${typed(columns).join(', ')})`,

    groupedRowset: (parameter, shared, own, alias) =>
      `(select ${[...named('g', shared), ...named('m', own)].join(', ')} ` +
      `from jsonb_to_recordset(${parameter}::jsonb) as g(${[...typed(shared), `${MEMBERS} jsonb`].join(', ')}) ` +
      `cross join lateral jsonb_to_recordset(g.${MEMBERS}) as m(${typed(own).join(', ')})) as ${alias}`,

    inList: (expression, parameter, type) =>
      `${expression} = any(array(select value::${typeOf(type)} from jsonb_array_elements_text(${parameter}::jsonb)))`,

    narrowTo: (expression, parameter) =>
      `${expression} = any(array(select value::uuid from jsonb_array_elements_text(${parameter}::jsonb)))`,

    // An array, not a semi-join: its plan does not depend on statistics that a new table lacks.
    inSelect: (expression, select) => `${expression} = any(array(${select}))`,

    ...sql,
    insertNotifies: true,

    insert(parts: InsertParts): string {
      // Inside the insert's own commit: pg_notify in a commit of its own makes all committers queue at one lock.
      if (parts.notify === undefined) return sql.insert(parts);
      if (parts.notify !== 'gained') {
        const queues = `jsonb_array_elements_text(${parts.notify}::jsonb)`;
        return `with inserted as (${sql.insert(parts)}) select ${notify(schema, 'value')} as woken from ${queues}`;
      }
      const inserted = sql.insert({ ...parts, returning: [...new Set([...parts.returning, 'queue', 'state'])] });
      return `
        with inserted as (${inserted}),
        woken as (select ${notify(schema, 'queue')} from (select distinct queue from inserted where state = 1) q)
        select ${parts.returning.join(', ')}, (select count(*) from woken) as woken from inserted`;
    },

    forEach: (parameter, value, pick, alias) =>
      `jsonb_array_elements_text(${parameter}::jsonb) as ${value}(value) cross join lateral (${sql.select(pick)}) as ${alias}`,

    size: (expression) => `octet_length(${expression})`,
    startsWith: (expression, prefix) => `starts_with(${expression}, ${prefix})`,
    cast: (parameter, type) => `${parameter}::${typeOf(type)}`,
    oldestVersion: [14],
    versionSql: `select current_setting('server_version') as version`,
    serverTime: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
    classify: classifyPostgresError,
  };
}

const DEADLOCK_OR_SERIALIZATION = new Set(['40001', '40P01', '0A000']);
const CONNECTION = /^(08|57P0[1-5])|^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/;
const CONNECTION_MESSAGE =
  /Connection terminated|connection timeout|Client has encountered a connection error|not queryable|timeout exceeded when trying to connect|Client was closed/i;

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function classifyPostgresError(error: unknown): ErrorKind {
  const { code = '', message = '' } = (error ?? {}) as { code?: unknown; message?: unknown };
  const sqlState = String(code);
  if (sqlState === '23505') return 'duplicate';
  if (DEADLOCK_OR_SERIALIZATION.has(sqlState)) return 'retry';
  if (sqlState === '55P03') return 'locked';
  if (CONNECTION.test(sqlState) || (sqlState === '' && CONNECTION_MESSAGE.test(String(message)))) return 'connection';
  if (/^(22|23|54)/.test(sqlState)) return 'data';
  return 'other';
}
