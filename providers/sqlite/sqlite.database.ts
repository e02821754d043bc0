import { setTimeout as sleep } from 'node:timers/promises';
import { LockTimeoutError, type Milliseconds, type TransactionHandle } from '../../lib/storage';
import type { CallerTransactions } from '../relational/caller-transactions';
import type { Database, OperationFactory, TransactionOptions } from '../relational/database';
import type { Dialect } from '../relational/dialect';
import type { InProcessNotifier } from '../relational/in-process-notifier';
import type { Row, Step } from '../relational/operation';
import { HeldSignals, runSync } from '../relational/runner';
import { StatementCache, type Statement, valuesOf } from '../relational/statement';
import type { SqliteHandle, SqliteStatement } from './sqlite.handle';
import { Turns } from './sqlite.turns';

const SHORTEST_PAUSE: Milliseconds = 1;
const LONGEST_PAUSE: Milliseconds = 50;

/**
 * Executes operations on one better-sqlite3 connection, synchronously from BEGIN IMMEDIATE to COMMIT: no other code of
 * the process runs while Millrace holds the file's writer lock, so an application that writes to the same file can never
 * keep Millrace from the event loop that its own COMMIT needs.
 *
 * When another connection holds the lock the wait is asynchronous, with back-off up to `busyTimeout`.
 */
export class SqliteDatabase implements Database {
  private readonly compiled: StatementCache;
  private readonly prepared = new Map<Statement, SqliteStatement>();
  private readonly turns = new Turns();

  constructor(
    private readonly handle: SqliteHandle,
    private readonly dialect: Dialect,
    private readonly callers: CallerTransactions,
    private readonly notifier: InProcessNotifier,
    private readonly busyTimeout: Milliseconds,
  ) {
    this.compiled = new StatementCache(dialect);
  }

  async read<T>(operation: OperationFactory<T>): Promise<T> {
    return this.whenFree(() => runSync(operation({ again: false }), (step) => this.step(step, null)), 'reading');
  }

  async transaction<T>(operation: OperationFactory<T>, { single, waitsFor }: TransactionOptions): Promise<T> {
    return this.whenFree(() => {
      const signals = new HeldSignals();
      const run = () => runSync(operation({ again: false }), (step) => this.step(step, signals));
      const result = single ? run() : this.immediately(run);
      signals.publish(this.notifier);
      return result;
    }, waitsFor ?? 'the writer lock of the SQLite file');
  }

  async join<T>(handle: TransactionHandle, operation: OperationFactory<T>, waitsFor?: string): Promise<T> {
    return this.callers.join(handle, operation, waitsFor);
  }

  private immediately<T>(run: () => T): T {
    this.handle.exec('begin immediate');
    try {
      const result = run();
      this.handle.exec('commit'); // without WAL a reader can make even this one BUSY
      return result;
    } catch (error) {
      if (this.handle.inTransaction) this.handle.exec('rollback');
      throw error;
    }
  }

  private async whenFree<T>(run: () => T, waitsFor: string): Promise<T> {
    const startedAt = performance.now();
    for (let pause = SHORTEST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await this.turns.take(run);
      } catch (error) {
        if (this.dialect.classify(error) !== 'retry') throw error;
        if (performance.now() - startedAt >= this.busyTimeout) {
          throw new LockTimeoutError(
            `Gave up waiting for ${waitsFor} after ${this.busyTimeout} ms: another connection is writing to the file. ` +
              'If that is a transaction of this application, pass it as { transaction }; otherwise raise busyTimeout.',
            { cause: error },
          );
        }
      }
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  private step(step: Step, signals: HeldSignals | null): readonly Row[] {
    if (step.kind !== 'query') {
      signals?.add(step);
      return [];
    }
    const statement = this.prepare(step.statement);
    const values = valuesOf(this.compiled.get(step.statement), step.values);
    if (statement.reader) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  }

  private prepare(statement: Statement): SqliteStatement {
    const { name, sql } = this.compiled.get(statement);
    if (name === '') return this.handle.prepare(sql);
    let prepared = this.prepared.get(statement);
    if (!prepared) {
      prepared = this.handle.prepare(sql);
      this.prepared.set(statement, prepared);
    }
    return prepared;
  }
}
