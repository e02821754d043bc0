import type { ColumnType, Table, TableName } from './schema/tables';

/** Names and types of the columns that a JSON parameter is read as. */
export type RowsetColumns = Readonly<Record<string, ColumnType>>;

/** The property of a group that holds its rows, see {@link Dialect.groupedRowset}. */
export const MEMBERS = 'members';

/** `wait` for rows that somebody holds, or `skip` them; `share` waits, too, and keeps others from changing them but not from sharing. */
export type LockMode = 'wait' | 'skip' | 'share';

export interface SelectParts {
  readonly columns: string;
  readonly table: TableName;
  readonly as?: string;
  /** Another from-item in place of `table`; it cannot be locked. */
  readonly from?: string;
  /** Further from-items with their conditions, for example `join … on …`. */
  readonly join?: string;
  readonly where: string;
  readonly orderBy?: string;
  /** A parameter such as `:limit`, or a number. */
  readonly limit?: string;
  /** Locks the rows of `table`, and of nothing it is joined to. */
  readonly lock?: LockMode;
}

export interface UpdateParts {
  readonly table: TableName;
  /** Alias by which `set` and `where` name the table. */
  readonly as: string;
  readonly set: string;
  /** A rowset that `set` and `where` may read, see {@link Dialect.rowset}. */
  readonly from?: string;
  readonly where: string;
  readonly returning: readonly string[];
  /** Columns of `returning` that mostly hold 0: it may be answered as null, where that is cheaper to send and to read. */
  readonly sparse?: readonly string[];
}

export interface InsertParts {
  readonly table: TableName;
  readonly columns: readonly string[];
  /** A select with these columns in this order. */
  readonly select: string;
  /** A nullable column under a unique index: rows whose value is taken are left out instead of failing. */
  readonly unlessTaken?: { readonly column: string; readonly value: string };
  /**
   * Sends wake-ups in the same statement, where the database can do that: for each queue that `gained` a claimable job,
   * or for those of a parameter, a JSON array, which costs less.
   */
  readonly notify?: 'gained' | `:${string}`;
  readonly returning: readonly string[];
}

export interface DeleteParts {
  readonly table: TableName;
  readonly as: string;
  readonly where: string;
  readonly returning: readonly string[];
}

/** What an error of the driver means for the operation that met it. */
export type ErrorKind =
  /** A unique index refused a row. */
  | 'duplicate'
  /** Deadlock, serialization failure, busy: nothing was written, the same transaction may be run again. */
  | 'retry'
  /** A lock was not granted within the time that a statement waits. */
  | 'locked'
  /** The connection is gone; whether a commit took place is unknown. */
  | 'connection'
  /** The data cannot be stored: too long, out of range, malformed. */
  | 'data'
  | 'other';

/** The few things that differ between databases. A difference is a member of Dialect or it is no difference. */
export interface Dialect {
  readonly provider: string;
  /** Qualified and quoted. */
  table(name: TableName): string;
  columnType(type: ColumnType): string;
  /** What follows the column list of CREATE TABLE. */
  tableSuffix(table: Table): string;
  indexName(name: string): string;
  /** Statements that must come before the first table: the schema itself. Harmless where it exists. */
  readonly createSchema: readonly string[];
  /** Takes the lock under which schemas are created and upgraded, until the transaction ends; null where a transaction is lock enough. */
  readonly schemaLock: string | null;
  /** Selects a row if and only if the table is there. */
  tableExists(name: TableName): string;
  /** Positional marker of a parameter; `reused` where one position may be named twice. */
  readonly placeholders: { readonly reused: boolean; at(index: number): string };
  /** Reads a JSON array of objects as rows, for a from-clause. */
  rowset(parameter: string, columns: RowsetColumns, alias: string): string;
  /**
   * The same for rows in groups: an object holds the columns of `shared`, which all rows of its group have in common, and
   * under {@link MEMBERS} an array of objects with the columns of `own`.
   */
  groupedRowset(parameter: string, shared: RowsetColumns, own: RowsetColumns, alias: string): string;
  /** A condition: `expression` equals one of the values of a JSON array. */
  inList(expression: string, parameter: string, type: ColumnType): string;
  /**
   * A condition that a join to a rowset implies already: `expression` is one of the ids of a JSON array. For planners that
   * choose the join by statistics which a new table lacks; `1 = 1` for those that it would mislead.
   */
  narrowTo(expression: string, parameter: string): string;
  /** A condition: `expression` equals one of the values that a select gives; fast on tables without statistics. */
  inSelect(expression: string, select: string): string;
  select(parts: SelectParts): string;
  update(parts: UpdateParts): string;
  insert(parts: InsertParts): string;
  /** True when `notify` of an insert is part of its statement; otherwise the operation asks its runner for the wake-up. */
  readonly insertNotifies: boolean;
  delete(parts: DeleteParts): string;
  /** Rows of `pick`, a correlated select, once for each value of a JSON array: columns of `pick` under `alias`. */
  forEach(parameter: string, value: string, pick: SelectParts, alias: string): string;
  /** Length of a text in whatever unit the database counts at no cost. */
  size(expression: string): string;
  /** True when a text starts with another, compared exactly. */
  startsWith(expression: string, prefix: string): string;
  /** The first operand that is not null must be typed by the database: a parameter as a value of this type. */
  cast(parameter: string, type: ColumnType): string;
  /** The oldest server that is supported, by the leading numbers of its version. */
  readonly oldestVersion: readonly number[];
  /** Selects one row with one column, `version`. */
  readonly versionSql: string;
  /** An expression for the server's clock in epoch milliseconds; null where the store has no clock of its own. */
  readonly serverTime: string | null;
  classify(error: unknown): ErrorKind;
}
