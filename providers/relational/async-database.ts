import { setTimeout as sleep } from 'node:timers/promises';
import { type Milliseconds, OutcomeUnknownError, type TransactionHandle } from '../../lib/storage';
import type { CallerTransactions } from './caller-transactions';
import type { Database, OperationFactory, TransactionOptions } from './database';
import type { Dialect } from './dialect';
import { lockTimeoutError } from './lock-timeout';
import type { Row, Step } from './operation';
import { runAsync } from './runner';
import { type CompiledStatement, StatementCache, type Value, valuesOf } from './statement';

/** One connection, for as long as one operation needs it. */
export interface Session {
  /** The server's number for it, where {@link AsyncDriver.blockerOf} takes one. */
  readonly backend?: number | undefined;
  run(statement: CompiledStatement, values: Value[]): Promise<readonly Row[]>;
  /** Begins a transaction whose statements wait for a lock {@link LOCK_SLICE} at the most. */
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Sends a wake-up that follows the commit; nothing where the database cannot. */
  wake(step: Exclude<Step, { kind: 'query' }>): Promise<void>;
  /** Gives the connection back to its pool; a broken one is not used again. */
  release(): Promise<void>;
}

/** What an asynchronous driver gives. */
export interface AsyncDriver {
  acquire(): Promise<Session>;
  /** Who keeps a backend waiting, whoever's session it serves, in words for an error; null when that cannot be told. */
  blockerOf?(backend: number): Promise<string | null>;
}

/** A transaction of ours waits this long for a lock, then starts over: below any deadlock timeout, so it is never the application that is shot. */
export const LOCK_SLICE: Milliseconds = 500;

const DUPLICATE_RESTARTS = 3;
const CONNECTION_RETRIES = 3;

/** Executes operations on a pool of connections. */
export class AsyncDatabase implements Database {
  private readonly statements: StatementCache;

  constructor(
    private readonly dialect: Dialect,
    private readonly driver: AsyncDriver,
    private readonly callers: CallerTransactions,
    private readonly lockTimeout: Milliseconds,
  ) {
    this.statements = new StatementCache(dialect);
  }

  async read<T>(operation: OperationFactory<T>): Promise<T> {
    const session = await this.driver.acquire();
    try {
      return await runAsync(operation({ again: false }), this.stepper(session));
    } finally {
      await session.release();
    }
  }

  async transaction<T>(operation: OperationFactory<T>, options: TransactionOptions): Promise<T> {
    const tries = new Tries(options.lockTimeout ?? this.lockTimeout);
    for (let again = false; ;) {
      const session = await this.driver.acquire();
      const progress = { committing: options.single === true };
      const watch = tries.isLastSlice ? this.watchBlocker(session) : null;
      try {
        return await this.attempt(session, operation({ again }), options, progress);
      } catch (error) {
        const kind = this.dialect.classify(error);
        if (kind === 'connection' && progress.committing) {
          if (options.ifUnknown === 'fail') {
            throw new OutcomeUnknownError('The connection was lost while committing: the call may have taken effect.', {
              cause: error,
            });
          }
          again = true;
        }
        const pause = tries.pauseAfter(kind);
        if (pause === null) throw kind === 'locked' ? lockTimeoutError(options, await watch, error) : error;
        await sleep(pause);
      } finally {
        await session.release();
      }
    }
  }

  async join<T>(handle: TransactionHandle, operation: OperationFactory<T>, waitsFor?: string): Promise<T> {
    return this.callers.join(handle, operation, waitsFor, (backend) => this.blockerOf(backend));
  }

  private async attempt<T>(
    session: Session,
    operation: ReturnType<OperationFactory<T>>,
    options: TransactionOptions,
    progress: { committing: boolean },
  ): Promise<T> {
    if (options.single) return runAsync(operation, this.stepper(session));
    await session.begin();
    let result: T;
    try {
      result = await runAsync(operation, this.stepper(session));
    } catch (error) {
      // A rollback that fails means a connection that is gone, and then there is nothing to roll back.
      await session.rollback().catch(() => undefined);
      throw error;
    }
    progress.committing = true;
    await session.commit();
    return result;
  }

  private stepper(session: Session): (step: Step) => Promise<readonly Row[]> {
    return async (step) => {
      if (step.kind === 'query') {
        const statement = this.statements.get(step.statement);
        return session.run(statement, valuesOf(statement, step.values));
      }
      await session.wake(step);
      return [];
    };
  }

  private async watchBlocker(session: Session): Promise<string | null> {
    await sleep(LOCK_SLICE / 2);
    const blocker = this.blockerOf(session.backend);
    // To ask takes a second connection, and the pool may have none until this very call gives its own back.
    return Promise.race([blocker, sleep(LOCK_SLICE / 2).then(() => null)]);
  }

  private async blockerOf(backend: number | undefined): Promise<string | null> {
    if (backend === undefined) return null;
    return (await this.driver.blockerOf?.(backend).catch(() => null)) ?? null;
  }
}

/** Decides whether a transaction that failed is run once more, and after which pause. */
class Tries {
  private readonly startedAt = performance.now();
  private count = 0;
  private duplicates = 0;
  private connections = 0;

  constructor(private readonly lockTimeout: Milliseconds) {}

  get isLastSlice(): boolean {
    return this.count > 0 && this.elapsed + LOCK_SLICE >= this.lockTimeout;
  }

  /** Null when it is to be given up. */
  pauseAfter(kind: ReturnType<Dialect['classify']>): Milliseconds | null {
    this.count++;
    const jitter = Math.random();
    switch (kind) {
      case 'locked':
        return this.elapsed < this.lockTimeout ? 0 : null;
      case 'retry':
        return this.elapsed < this.lockTimeout ? jitter * Math.min(5 * 2 ** this.count, 100) : null;
      case 'duplicate':
        return ++this.duplicates <= DUPLICATE_RESTARTS ? jitter * 5 : null;
      case 'connection':
        return ++this.connections <= CONNECTION_RETRIES ? 20 * 4 ** this.connections * jitter : null;
      case 'data':
      case 'other':
        return null;
    }
  }

  private get elapsed(): Milliseconds {
    return performance.now() - this.startedAt;
  }
}
