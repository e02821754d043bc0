/** What Millrace uses of a connection of the `better-sqlite3` package. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  pragma(source: string): unknown;
}

export interface SqliteStatement {
  /** True for statements that give rows. */
  readonly reader: boolean;
  all(...values: unknown[]): unknown[];
  run(...values: unknown[]): unknown;
}
