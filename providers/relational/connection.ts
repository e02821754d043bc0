import type { IStorageNotifier } from '../../lib/storage';
import type { CallerTransactions, CallerTransactionSql } from './caller-transactions';
import type { Database } from './database';
import type { Dialect } from './dialect';

/** What a provider brings to the one relational implementation: its dialect, and how to reach the database. */
export interface Connection {
  readonly dialect: Dialect;
  /** How operations run inside the application's transactions on this database. */
  readonly callerTransactions: CallerTransactionSql;
  /** Null where the store cannot push wake-ups. */
  readonly notifier: IStorageNotifier | null;
  /** Whether the schema is created and upgraded at startup. */
  readonly autoCreateSchema: boolean;
  /** What to do about a schema that is missing or too old; ends an error message. */
  readonly howToMigrate: string;
  /**
   * @throws {DriverNotInstalledError}
   */
  connect(toolkit: ConnectionToolkit): Promise<Database>;
  /** After the schema is in place: begin to listen for wake-ups. */
  listen(): Promise<void>;
  disconnect(): Promise<void>;
}

/** What the relational implementation gives a connection to build its database with. */
export interface ConnectionToolkit {
  readonly callers: CallerTransactions;
  readonly lockTimeout: number;
}
