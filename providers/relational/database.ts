import type { Milliseconds, TransactionHandle } from '../../lib/storage';
import type { Operation } from './operation';

/** Makes an operation anew for each run; `again` says that an earlier run may have been committed without an answer. */
export type OperationFactory<T> = (run: { readonly again: boolean }) => Operation<T>;

export interface TransactionOptions {
  /**
   * What to do when the connection is lost while committing. `retry` where a second run finds out whether the first one
   * took place, or may repeat it without harm; otherwise the call fails with OutcomeUnknownError.
   */
  readonly ifUnknown: 'retry' | 'fail';
  /** The operation's statements are transactions of their own: no BEGIN and COMMIT. */
  readonly single?: boolean;
  /** How long to wait for locks in all, where that is not the `lockTimeout` of the store. */
  readonly lockTimeout?: Milliseconds;
  /** What a LockTimeoutError says was waited for, for example `key "capture:1"`. */
  readonly waitsFor?: string;
}

/** Executes operations: alone, in a transaction of their own with bounded retry, or in one of the caller's. */
export interface Database {
  /** Reads, without a transaction. */
  read<T>(operation: OperationFactory<T>): Promise<T>;
  transaction<T>(operation: OperationFactory<T>, options: TransactionOptions): Promise<T>;
  /** Runs in the caller's open transaction, after every operation that joined it before. */
  join<T>(handle: TransactionHandle, operation: OperationFactory<T>, waitsFor?: string): Promise<T>;
}
