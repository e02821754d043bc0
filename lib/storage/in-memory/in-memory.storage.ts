import type { Storage, StorageEnvironment, StorageInfo } from '../storage';
import { CallerTransactions } from './caller-transactions';
import { Database } from './database';
import { InMemoryJobStorage } from './in-memory-job-storage';
import { InMemoryMonitoringStorage } from './in-memory-monitoring-storage';
import { InMemoryWorkflowStorage } from './in-memory-workflow-storage';
import { InProcessNotifier } from './notifier';

/** One store in memory. What it holds lives as long as this object does. */
export class InMemoryStorage implements Storage {
  readonly jobs: InMemoryJobStorage;
  readonly workflows: InMemoryWorkflowStorage;
  readonly monitoring: InMemoryMonitoringStorage;
  readonly notifier: InProcessNotifier;
  private readonly database: Database;

  constructor(
    environment: StorageEnvironment,
    readonly provider: string,
    options: { readonly keepFinished: number; readonly callerTransactions: 'refuse' | 'apply' },
  ) {
    this.notifier = new InProcessNotifier(environment.logger);
    this.database = new Database(provider, environment.clock, this.notifier, options.keepFinished);
    const callers = new CallerTransactions(options.callerTransactions);
    this.jobs = new InMemoryJobStorage(this.database, callers);
    this.workflows = new InMemoryWorkflowStorage(this.database, callers);
    this.monitoring = new InMemoryMonitoringStorage(this.database);
  }

  /** A second call is a no-op; what was there before a {@link close} is there again. */
  async open(): Promise<void> {
    this.database.open();
  }

  /** Ends all subscriptions, and refuses operations from then on. */
  async close(): Promise<void> {
    this.database.close();
    this.notifier.close();
  }

  async getInfo(): Promise<StorageInfo> {
    return { provider: this.provider, serverVersion: `Node.js ${process.versions.node}` };
  }
}
