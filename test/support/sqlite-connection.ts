/** What tests use of a connection of the `better-sqlite3` package. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  pragma(source: string, options?: { simple: true }): unknown;
  prepare(sql: string): { all(...values: unknown[]): Record<string, unknown>[]; run(...values: unknown[]): unknown };
  close(): void;
}

const Connection = require('better-sqlite3') as new (file: string, options?: object) => SqliteConnection;

/** A connection of the test's own to a file, which waits for no lock: it fails at once. */
export function openSqlite(file: string): SqliteConnection & Disposable {
  const connection = new Connection(file, { timeout: 0 });
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close() });
}
