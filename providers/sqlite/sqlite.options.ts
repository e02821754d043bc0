import { type Duration, InvalidArgumentError, type Milliseconds, SECOND, toMilliseconds } from '../../lib/storage';

export interface SqliteStorageOptions {
  /** Path of the file, or `:memory:` for a database that lives as long as the storage is open. */
  readonly database: string;
  /** Create and upgrade the schema at startup. Default true. */
  readonly autoCreateSchema?: boolean;
  /** Lets reads run beside the one writer. Turn it off only where shared memory is missing, as on network file systems. Default true. */
  readonly useWriteAheadLog?: boolean;
  /** How long a call waits for the writer lock before it fails. Default 30 s. */
  readonly busyTimeout?: Duration;
  /** `full`: a job whose enqueue has answered survives a power cut. `normal`: it survives a crash of the process. Default `full`. */
  readonly synchronous?: 'full' | 'normal';
}

export interface ResolvedSqliteOptions {
  readonly database: string;
  readonly autoCreateSchema: boolean;
  readonly useWriteAheadLog: boolean;
  readonly busyTimeout: Milliseconds;
  readonly synchronous: 'full' | 'normal';
}

/**
 * Fills the defaults in.
 *
 * @throws {InvalidArgumentError} naming the option
 */
export function resolveSqliteOptions(options: SqliteStorageOptions): ResolvedSqliteOptions {
  const { database, synchronous = 'full' } = options;
  if (typeof database !== 'string' || database.trim() === '') {
    throw new InvalidArgumentError(
      `sqliteStorage: database must be the path of a file, or ':memory:', got '${database}'.`,
    );
  }
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw new InvalidArgumentError(
      `sqliteStorage: synchronous must be 'full' or 'normal', got '${String(synchronous)}'.`,
    );
  }
  return {
    database,
    autoCreateSchema: options.autoCreateSchema ?? true,
    useWriteAheadLog: options.useWriteAheadLog ?? true,
    busyTimeout: toMilliseconds(options.busyTimeout ?? 30 * SECOND, 'sqliteStorage: busyTimeout'),
    synchronous,
  };
}
