import type { IClock, Milliseconds } from '../model/time';
import type { IJobStorage } from './job-storage';
import type { IMonitoringStorage } from './monitoring-storage';
import type { IStorageNotifier } from './storage-notifier';
import type { IWorkflowStorage } from './workflow-storage';

export interface StorageInfo {
  readonly provider: string;
  readonly serverVersion: string;
}

/** One store: its ports sit over one database, since several operations span them. */
export interface Storage {
  readonly jobs: IJobStorage;
  readonly workflows: IWorkflowStorage;
  readonly monitoring: IMonitoringStorage;
  /** Null where the store cannot push wake-ups: workers then poll. */
  readonly notifier: IStorageNotifier | null;

  /**
   * Connects, and creates or upgrades the schema where that is switched on. Safe from many processes at once.
   *
   * @throws {DriverNotInstalledError} with the line to run
   * @throws {SchemaVersionError} the schema does not fit this code
   */
  open(): Promise<void>;

  /** Ends every connection that the store opened itself. A second call is a no-op. */
  close(): Promise<void>;

  getInfo(): Promise<StorageInfo>;
}

/** Where a store writes what an operator should know. Ids are logged, arguments never. */
export interface StorageLogger {
  error(message: string): void;
  warn(message: string): void;
  log(message: string): void;
  debug(message: string): void;
}

/** What the engine gives a store when it is created. */
export interface StorageEnvironment {
  /** Decides every comparison with the present; the database's own clock never does. */
  readonly clock: IClock;
  readonly logger: StorageLogger;
  /** How long a call waits, in all, for a lock that somebody's transaction holds. Default 5 s. */
  readonly lockTimeout: Milliseconds;
}

/** What `storage:` accepts. A plain object: making one loads no driver and opens nothing. */
export interface StorageRegistration {
  readonly provider: string;
  create(environment: StorageEnvironment): Storage;
}
