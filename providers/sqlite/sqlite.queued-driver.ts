import type { AsyncDriver, Session } from '../relational/async-database';
import type { InProcessNotifier } from '../relational/in-process-notifier';
import type { Row, Step } from '../relational/operation';
import { HeldSignals } from '../relational/runner';
import type { CompiledStatement, Value } from '../relational/statement';

/** What Millrace uses of a connection of the `sqlite3` package. */
export interface AsyncSqliteHandle {
  all(sql: string, values: unknown[], done: (error: Error | null, rows: unknown[]) => void): unknown;
}

/**
 * One connection of the asynchronous `sqlite3` package. Operations queue for it: two transactions on one connection would
 * be one transaction, and a read between them would see what is not committed.
 */
export class QueuedSqliteDriver implements AsyncDriver {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly handle: AsyncSqliteHandle,
    private readonly notifier: InProcessNotifier,
  ) {}

  acquire(): Promise<Session> {
    const before = this.last;
    return new Promise((given) => {
      this.last = new Promise((end) => {
        void before.then(() => given(new QueuedSession(this, this.notifier, end)));
      });
    });
  }

  /** Runs a statement outside the queue of operations. */
  ask(sql: string, values: Value[] = []): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.handle.all(sql, values, (error, rows) => (error ? reject(error) : resolve(rows as Row[])));
    });
  }
}

class QueuedSession implements Session {
  private signals = new HeldSignals();
  private inTransaction = false;

  constructor(
    private readonly driver: QueuedSqliteDriver,
    private readonly notifier: InProcessNotifier,
    private readonly end: () => void,
  ) {}

  async run(statement: CompiledStatement, values: Value[]): Promise<readonly Row[]> {
    return this.driver.ask(statement.sql, values);
  }

  async begin(): Promise<void> {
    await this.driver.ask('begin immediate');
    this.inTransaction = true;
    this.signals = new HeldSignals();
  }

  async commit(): Promise<void> {
    await this.driver.ask('commit');
    this.inTransaction = false;
    this.signals.publish(this.notifier);
  }

  async rollback(): Promise<void> {
    this.inTransaction = false;
    await this.driver.ask('rollback');
  }

  async wake(step: Exclude<Step, { kind: 'query' }>): Promise<void> {
    this.signals.add(step);
    if (this.inTransaction) return;
    this.signals.publish(this.notifier);
    this.signals = new HeldSignals();
  }

  async release(): Promise<void> {
    this.end();
  }
}
