import { type Dialect, MEMBERS, type RowsetColumns } from '../relational/dialect';
import type { ColumnType, TableName } from '../relational/schema/tables';
import { classifySqlServerError, SCHEMA_LOCK_NOT_GRANTED } from './mssql.errors';
import { transactSql } from './mssql.sql';

// By code unit, whatever the collation of the database: queues, keys and ids compare exactly.
const COLLATE = 'collate Latin1_General_100_BIN2';

const SCHEMA_LOCK_TIMEOUT = 10_000; // milliseconds; below the driver's own timeout of 15 s

const NUMBERS: Partial<Record<ColumnType, string>> = { small: 'smallint', int: 'int', big: 'bigint' };

/** A column of a table. */
function typeOf(type: ColumnType): string {
  const length = /^text\((\d+)\)$/.exec(type)?.[1];
  return NUMBERS[type] ?? (type === 'id' ? 'char(36)' : `nvarchar(${length ?? 'max'})`);
}

/** A value on its way to a column: as long as it comes, so that the column refuses what it cannot hold. */
function readAs(type: ColumnType): string {
  return type.startsWith('text(') ? 'nvarchar(4000)' : typeOf(type);
}

/** Without it a value that was read from JSON has the database's collation, and comparing it to a column is an error. */
function collated(name: string, type: ColumnType, of = ''): string {
  return type in NUMBERS ? `${of}${name}` : `${of}${name} ${COLLATE} as ${name}`;
}

const read = (columns: RowsetColumns) => Object.entries(columns).map(([name, type]) => `${name} ${readAs(type)}`);
const listed = (columns: RowsetColumns, of?: string) =>
  Object.entries(columns).map(([name, type]) => collated(name, type, of));

const values = (parameter: string, type: ColumnType) =>
  `select ${collated('value', type)} from openjson(${parameter}) with (value ${readAs(type)} '$')`;

/** SQL Server 2016 SP1 and newer, and Azure SQL. Keeps to what Babelfish understands too. */
export function sqlServerDialect(schema: string): Dialect {
  const table = (name: TableName) => `[${schema}].[${name}]`;
  const sql = transactSql(table);

  return {
    provider: 'mssql',
    table,
    columnType: (type) => (type in NUMBERS ? typeOf(type) : `${typeOf(type)} ${COLLATE}`),
    tableSuffix: () => '',
    indexName: (name) => `[${name}]`,
    // CREATE SCHEMA has to be alone in its batch.
    createSchema: [`if schema_id('${schema}') is null exec('create schema [${schema}]')`],
    schemaLock:
      `declare @granted int; exec @granted = sp_getapplock @Resource = 'millrace schema ${schema}', ` +
      `@LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = ${SCHEMA_LOCK_TIMEOUT}; ` +
      `if @granted < 0 throw ${SCHEMA_LOCK_NOT_GRANTED}, 'The schema lock of Millrace was not granted.', 1`,
    tableExists: (name) => `select 1 as found where object_id('${table(name)}', 'U') is not null`,
    placeholders: { reused: true, at: (index) => `@${index}` },

    rowset: (parameter, columns, alias) =>
      `(select ${listed(columns).join(', ')} from openjson(${parameter}) with (${read(columns).join(', ')})) as ${alias}`,

    groupedRowset: (parameter, shared, own, alias) =>
      `(select ${[...listed(shared, 'g.'), ...listed(own, 'm.')].join(', ')} ` +
      `from openjson(${parameter}) with (${[...read(shared), `${MEMBERS} nvarchar(max) as json`].join(', ')}) as g ` +
      `cross apply openjson(g.${MEMBERS}) with (${read(own).join(', ')}) as m) as ${alias}`,

    inList: (expression, parameter, type) => `${expression} in (${values(parameter, type)})`,
    // OPENJSON has no statistics either: its rows count as fifty, which leads the way along the primary key.
    narrowTo: () => '1 = 1',
    inSelect: (expression, select) => `${expression} in (${select})`,
    ...sql,
    insertNotifies: false,

    forEach: (parameter, value, pick, alias) =>
      `(${values(parameter, 'text(4000)')}) as ${value} cross apply (${sql.select(pick)}) as ${alias}`,

    size: (expression) => `datalength(${expression})`,
    // LEN leaves trailing spaces out of account, so the end is marked.
    startsWith: (expression, prefix) => `left(${expression}, len(${prefix} + '.') - 1) = ${prefix}`,
    cast: (parameter, type) => `cast(${parameter} as ${typeOf(type)})`,
    // The version of Azure SQL tells nothing: the connection looks at edition and compatibility level instead.
    oldestVersion: [],
    versionSql: `select cast(serverproperty('ProductVersion') as nvarchar(128)) as version`,
    serverTime: `datediff_big(millisecond, '19700101', sysutcdatetime())`,
    classify: classifySqlServerError,
  };
}

export { classifySqlServerError } from './mssql.errors';
