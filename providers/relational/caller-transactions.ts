import { InvalidTransactionError, MillraceError, type Milliseconds, type TransactionHandle } from '../../lib/storage';
import { BlockerWatch } from './blocker-watch';
import { lockTimeoutError } from './lock-timeout';
import type { OperationFactory } from './database';
import type { Dialect } from './dialect';
import type { Row, Step } from './operation';
import { runAsync } from './runner';
import { readLedger } from './schema/migrator';
import { type CompiledStatement, StatementCache, type Value, valuesOf } from './statement';

/** How a database lets an operation be undone inside a transaction that is not ours. */
export interface CallerTransactionSql {
  readonly savepoint: string;
  /** Null where a savepoint needs no release. */
  readonly release: string | null;
  readonly rollback: string;
  /**
   * Bounds the waits of this operation; null where waiting needs no bound. Gives the setting before as `value`, and as
   * `backend` what {@link BlockerOf} takes, where there is one.
   */
  limitWaits(timeout: Milliseconds): string | null;
  restoreWaits(value: string): string;
  /** A statement that sends a wake-up with the caller's commit; null where the next probe has to find the job. */
  wake(step: Exclude<Step, { kind: 'query' }>): { readonly sql: string; readonly values: readonly string[] } | null;
  /** A call as the caller's connection takes it, its waits bounded; left out where it is taken as it is. */
  adapt?(
    statement: CompiledStatement,
    values: readonly Value[],
    timeout: Milliseconds,
  ): { readonly sql: string; readonly values: unknown[] };
  /** A better error than the driver's own, where there is one to give. */
  explain?(error: unknown): MillraceError | null;
}

/** Who keeps a backend of the database waiting, in words for an error; null when that cannot be told. */
export type BlockerOf = (backend: number) => Promise<string | null>;

/**
 * Runs operations inside transactions of the application. Operations that join one connection are queued, each to its
 * end before the next begins: savepoints of parallel calls must not interleave.
 */
export class CallerTransactions {
  private readonly statements: StatementCache;
  private readonly queues = new WeakMap<object, Promise<unknown>>();
  private readonly ofThisStore = new WeakSet<object>();

  constructor(
    private readonly dialect: Dialect,
    private readonly sql: CallerTransactionSql,
    private readonly storeId: () => string,
    private readonly lockTimeout: Milliseconds,
  ) {
    this.statements = new StatementCache(dialect);
  }

  /** @param blockerOf asked on another connection who is in the way, when a wait for a lock is about to be given up */
  async join<T>(
    handle: TransactionHandle,
    operation: OperationFactory<T>,
    waitsFor?: string,
    blockerOf?: BlockerOf,
  ): Promise<T> {
    const connection = connectionOf(handle);
    const before = this.queues.get(connection) ?? Promise.resolve();
    const mine = before.then(() => this.run(handle, connection, operation, waitsFor, blockerOf));
    this.queues.set(
      connection,
      mine.catch(() => undefined),
    );
    return mine;
  }

  private async run<T>(
    handle: TransactionHandle,
    connection: object,
    operation: OperationFactory<T>,
    waitsFor: string | undefined,
    blockerOf: BlockerOf | undefined,
  ): Promise<T> {
    if (isOpen(handle) === false) {
      throw new InvalidTransactionError(
        'The transaction that was passed is not open: it would commit by itself. Pass the manager of a running transaction.',
      );
    }
    await this.openSavepoint(handle);
    const watch = new BlockerWatch(this.lockTimeout);
    try {
      await this.checkStore(handle, connection);
      const limit = this.sql.limitWaits(this.lockTimeout);
      const [previous] = limit === null ? [] : rowsOf(await handle.query(limit));
      if (blockerOf && previous?.['backend']) watch.start(() => blockerOf(Number(previous['backend'])));
      const result = await runAsync(operation({ again: false }), this.stepper(handle));
      if (previous) await handle.query(this.sql.restoreWaits(String(previous['value'])));
      if (this.sql.release !== null) await handle.query(this.sql.release);
      return result;
    } catch (error) {
      const blocker = watch.lastSeen;
      // When even this fails the caller's transaction is lost, and its own next statement will say so.
      await handle.query(this.sql.rollback).catch(() => undefined);
      throw this.explained(error, waitsFor, blocker);
    } finally {
      watch.stop();
    }
  }

  private async openSavepoint(handle: TransactionHandle): Promise<void> {
    try {
      await handle.query(this.sql.savepoint);
    } catch (cause) {
      if (this.dialect.classify(cause) === 'connection') throw cause;
      throw new InvalidTransactionError('The transaction that was passed is not open, or has failed before.', {
        cause,
      });
    }
  }

  private explained(error: unknown, waitsFor: string | undefined, blocker: string | null): unknown {
    if (error instanceof MillraceError) return error;
    const explanation = this.sql.explain?.(error);
    if (explanation) return explanation;
    return this.dialect.classify(error) === 'locked' ? lockTimeoutError({ waitsFor }, blocker, error) : error;
  }

  private async checkStore(handle: TransactionHandle, connection: object): Promise<void> {
    if (this.ofThisStore.has(connection)) return;
    const ledger = await runAsync(readLedger(this.dialect), this.stepper(handle));
    if (ledger?.storeId !== this.storeId()) {
      throw new InvalidTransactionError(
        'The transaction that was passed is one of another database than the one where Millrace keeps its jobs.',
      );
    }
    this.ofThisStore.add(connection);
  }

  private stepper(handle: TransactionHandle): (step: Step) => Promise<readonly Row[]> {
    return async (step) => {
      if (step.kind === 'query') {
        const statement = this.statements.get(step.statement);
        const given = valuesOf(statement, step.values);
        const { sql, values } = this.sql.adapt?.(statement, given, this.lockTimeout) ?? {
          sql: statement.sql,
          values: given,
        };
        return rowsOf(await handle.query(sql, values));
      }
      const wake = this.sql.wake(step);
      if (wake) await handle.query(wake.sql, [...wake.values]);
      return [];
    };
  }
}

/** What TypeORM answers for one statement: rows, or rows and their count, or neither. */
function rowsOf(answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) return [];
  if (answer.length === 2 && Array.isArray(answer[0]) && typeof answer[1] === 'number') return answer[0] as Row[];
  return answer as Row[];
}

/** Undefined when the handle does not tell; then the savepoint finds out. */
function isOpen(handle: TransactionHandle): boolean | undefined {
  const told = handle.isTransactionActive ?? handle.queryRunner?.isTransactionActive;
  if (told !== undefined) return told;
  // A data source, or its manager outside any transaction: every query would go to another connection.
  return 'createQueryRunner' in handle || 'dataSource' in handle || 'connection' in handle ? false : undefined;
}

/** An EntityManager and its QueryRunner are one connection. */
function connectionOf(handle: TransactionHandle): object {
  return handle.queryRunner ?? handle;
}
