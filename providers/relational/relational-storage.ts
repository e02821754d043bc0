import {
  type IStorageNotifier,
  MINUTE,
  type Storage,
  StorageClosedError,
  type StorageEnvironment,
  type StorageInfo,
} from '../../lib/storage';
import { CallerTransactions } from './caller-transactions';
import type { Connection } from './connection';
import type { Database } from './database';
import { checkLedger, CODE_VERSION, type Ledger, migrate, readLedger } from './schema/migrator';
import { query } from './operation';
import { RelationalJobStorage } from './relational-job-storage';
import { RelationalMonitoringStorage } from './relational-monitoring-storage';
import { RelationalWorkflowStorage } from './relational-workflow-storage';
import { checkServerVersion } from './server-version';
import type { Statement } from './statement';

/** The ports of a store over one relational database. */
export class RelationalStorage implements Storage {
  readonly jobs: RelationalJobStorage;
  readonly workflows: RelationalWorkflowStorage;
  readonly monitoring: RelationalMonitoringStorage;
  readonly notifier: IStorageNotifier | null;
  private readonly callers: CallerTransactions;
  private opened: Database | null = null;
  private ledger: Ledger | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly environment: StorageEnvironment,
  ) {
    const { dialect } = connection;
    const database = () => this.database;
    this.jobs = new RelationalJobStorage(database, dialect, environment.clock);
    this.workflows = new RelationalWorkflowStorage(database, dialect, environment.clock);
    this.monitoring = new RelationalMonitoringStorage(database, environment.clock);
    this.notifier = connection.notifier;
    this.callers = new CallerTransactions(
      dialect,
      connection.callerTransactions,
      () => this.ledger?.storeId ?? '',
      environment.lockTimeout,
    );
  }

  async open(): Promise<void> {
    if (this.opened) return;
    const { callers } = this;
    try {
      const database = await this.connection.connect({ callers, lockTimeout: this.environment.lockTimeout });
      checkServerVersion(this.connection.dialect, await this.versionOf(database));
      this.ledger = await this.prepareSchema(database);
      await this.connection.listen();
      this.opened = database;
    } catch (error) {
      await this.connection.disconnect();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (!this.opened) return;
    this.opened = null;
    await this.connection.disconnect();
  }

  async getInfo(): Promise<StorageInfo> {
    const { provider } = this.connection.dialect;
    return { provider, serverVersion: await this.versionOf(this.database) };
  }

  private get database(): Database {
    if (!this.opened) throw new StorageClosedError(this.connection.dialect.provider);
    return this.opened;
  }

  private async prepareSchema(database: Database): Promise<Ledger> {
    const { dialect, autoCreateSchema, howToMigrate } = this.connection;
    const now = this.environment.clock.now().getTime();
    const current = await database.read(() => readLedger(dialect));
    if (!autoCreateSchema || (current && current.version >= CODE_VERSION)) return checkLedger(current, howToMigrate);
    const ledger = await database.transaction(() => migrate(dialect, now), {
      ifUnknown: 'retry',
      lockTimeout: MINUTE,
      waitsFor: 'the schema lock',
    });
    return checkLedger(ledger, howToMigrate);
  }

  private async versionOf(database: Database): Promise<string> {
    const statement: Statement = { name: '', text: (d) => d.versionSql };
    const [row] = await database.read(() => query(statement, {}));
    return String(row?.['version']);
  }
}
