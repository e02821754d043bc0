import type { ColumnType, TableName } from '../relational/schema/tables';
import { type Dialect, type ErrorKind, MEMBERS, type RowsetColumns } from '../relational/dialect';
import { standardSql } from '../relational/standard-sql';

const typeOf = (type: ColumnType) => (type === 'id' || type.startsWith('text') ? 'text' : 'integer');

const read = (json: string, columns: RowsetColumns) =>
  Object.keys(columns).map((name) => `${json} ->> '$.${name}' as ${name}`);

// The file may be the application's own, so the names are marked.
const table = (name: TableName) => `millrace_${name}`;

// Every writing operation holds the writer lock from its beginning: there is nobody to lock rows against.
// RETURNING sees the changed table alone, and not by its alias.
const sql = standardSql(
  table,
  () => '',
  (_as, column) => column,
);

/** SQLite 3.38 and newer. */
export const sqliteDialect: Dialect = {
  provider: 'sqlite',
  table,
  columnType: typeOf,
  tableSuffix: () => '',
  indexName: (name) => `millrace_${name}`,
  createSchema: [],
  schemaLock: null,
  tableExists: (name) => `select 1 as found from sqlite_master where type = 'table' and name = '${table(name)}'`,
  placeholders: { reused: false, at: () => '?' },

  rowset: (parameter, columns, alias) =>
    `(select ${read('value', columns).join(', ')} from json_each(${parameter})) as ${alias}`,

  // What a group shares is read once, and not with each of its members.
  groupedRowset(parameter, shared, own, alias) {
    const groups = `select ${[...read('value', shared), `value -> '$.${MEMBERS}' as ${MEMBERS}`].join(', ')} from json_each(${parameter})`;
    const columns = [...Object.keys(shared).map((name) => `g.${name} as ${name}`), ...read('m.value', own)];
    return (
      `(with g as materialized (${groups}) select ${columns.join(', ')} ` +
      `from g cross join json_each(g.${MEMBERS}) as m) as ${alias}`
    );
  },

  inList: (expression, parameter) => `${expression} in (select value from json_each(${parameter}))`,
  narrowTo: () => '1 = 1',
  inSelect: (expression, select) => `${expression} in (${select})`,
  ...sql,
  insertNotifies: false,

  // SQLite knows no LATERAL; a correlated list and a look-up by primary key come to the same.
  forEach: (parameter, value, pick, alias) =>
    `json_each(${parameter}) as ${value} join ${table(pick.table)} as ${alias} on ${alias}.id in (${sql.select({ ...pick, columns: `${pick.as ?? pick.table}.id` })})`,

  size: (expression) => `length(${expression})`,
  startsWith: (expression, prefix) => `substr(${expression}, 1, length(${prefix})) = ${prefix}`,
  cast: (parameter) => parameter,
  oldestVersion: [3, 38],
  versionSql: 'select sqlite_version() as version',
  serverTime: null,
  classify: classifySqliteError,
};

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** @see https://www.sqlite.org/rescode.html */
export function classifySqliteError(error: unknown): ErrorKind {
  const code = codeOf(error);
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return 'duplicate';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'retry';
  if (code === 'SQLITE_CONSTRAINT' && /UNIQUE constraint failed/.test((error as Error).message)) return 'duplicate';
  if (code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_TOOBIG' || code === 'SQLITE_MISMATCH') return 'data';
  return 'other';
}
