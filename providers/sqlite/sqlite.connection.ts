import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { InvalidTransactionError } from '../../lib/storage';
import { AsyncDatabase } from '../relational/async-database';
import type { CallerTransactionSql } from '../relational/caller-transactions';
import type { Connection, ConnectionToolkit } from '../relational/connection';
import type { Database } from '../relational/database';
import { InProcessNotifier } from '../relational/in-process-notifier';
import { isInstalled, loadPeer } from '../relational/peer-packages';
import { SqliteDatabase } from './sqlite.database';
import { sqliteDialect } from './sqlite.dialect';
import type { SqliteHandle } from './sqlite.handle';
import type { ResolvedSqliteOptions } from './sqlite.options';
import { type AsyncSqliteHandle, QueuedSqliteDriver } from './sqlite.queued-driver';

/** Native waits for a lock block the event loop, so they are short; the rest of the waiting is asynchronous. */
const NATIVE_WAIT = 5; // ms
const PAUSE = 20; // ms

const loadTypeorm = () => loadPeer('typeorm', () => require('typeorm') as typeof import('typeorm'));
const loadBetterSqlite3 = () => require('better-sqlite3') as unknown;
const loadSqlite3 = () => require('sqlite3') as unknown;

/**
 * One connection of Millrace's own to a SQLite file, through better-sqlite3, or through `sqlite3` where only that is
 * installed (TypeORM 0.3).
 */
export class SqliteConnection implements Connection {
  readonly dialect = sqliteDialect;
  readonly callerTransactions = CALLER_TRANSACTIONS;
  readonly notifier = new InProcessNotifier();
  readonly autoCreateSchema: boolean;
  readonly howToMigrate =
    "Run the migrations of sqliteMigrations() from 'nestjs-millrace/sqlite', or start once with autoCreateSchema: true.";
  private dataSource: DataSource | null = null;

  constructor(private readonly options: ResolvedSqliteOptions) {
    this.autoCreateSchema = options.autoCreateSchema;
  }

  async connect({ callers }: ConnectionToolkit): Promise<Database> {
    const { busyTimeout } = this.options;
    if (!isInstalled(loadBetterSqlite3) && isInstalled(loadSqlite3)) {
      const handle = (await this.open('sqlite')) as AsyncSqliteHandle;
      const driver = new QueuedSqliteDriver(handle, this.notifier);
      for (const pragma of this.pragmas()) await driver.ask(`pragma ${pragma}`);
      return new AsyncDatabase(this.dialect, driver, callers, busyTimeout);
    }
    loadPeer('better-sqlite3', loadBetterSqlite3);
    const handle = (await this.open('better-sqlite3')) as SqliteHandle;
    await this.configure(handle);
    return new SqliteDatabase(handle, this.dialect, callers, this.notifier, busyTimeout);
  }

  async listen(): Promise<void> {}

  async disconnect(): Promise<void> {
    const dataSource = this.dataSource;
    this.dataSource = null;
    if (dataSource?.isInitialized) await dataSource.destroy();
  }

  private async open(type: 'better-sqlite3' | 'sqlite'): Promise<unknown> {
    const { DataSource } = loadTypeorm();
    const options = {
      type,
      database: this.options.database,
      timeout: NATIVE_WAIT,
      busyTimeout: NATIVE_WAIT,
      logging: false,
    };
    this.dataSource = await new DataSource(options as unknown as DataSourceOptions).initialize();
    return (this.dataSource.driver as unknown as { databaseConnection: unknown }).databaseConnection;
  }

  /** Changing the journal mode needs the file for itself for a moment, and several processes may start at once. */
  private async configure(handle: SqliteHandle): Promise<void> {
    const deadline = performance.now() + this.options.busyTimeout;
    for (;;) {
      try {
        for (const pragma of this.pragmas()) handle.pragma(pragma);
        return;
      } catch (error) {
        if (this.dialect.classify(error) !== 'retry' || performance.now() >= deadline) throw error;
      }
      await sleep(PAUSE * Math.random());
    }
  }

  private pragmas(): string[] {
    const { useWriteAheadLog, synchronous } = this.options;
    return [
      `busy_timeout = ${NATIVE_WAIT}`,
      `journal_mode = ${useWriteAheadLog ? 'wal' : 'delete'}`,
      `synchronous = ${synchronous}`,
      // Without statistics SQLite walks the whole table for a rare state; this looks at a few hundred rows of what has changed.
      'analysis_limit = 400',
      'optimize = 0x10002',
    ];
  }
}

const CALLER_TRANSACTIONS: CallerTransactionSql = {
  savepoint: 'savepoint millrace',
  release: 'release savepoint millrace',
  rollback: 'rollback to savepoint millrace',
  limitWaits: () => null,
  restoreWaits: () => '',
  wake: () => null,
  explain(error) {
    const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
    if (String(code ?? driverError?.code) !== 'SQLITE_BUSY_SNAPSHOT') return null;
    return new InvalidTransactionError(
      'Another connection has written since this transaction began to read, so it can no longer write. ' +
        'Begin it with BEGIN IMMEDIATE, or make the enqueue its first statement.',
      { cause: error },
    );
  },
};
