import { type FakeClock, type IClock, SECOND } from '../model/time';
import type { Storage, StorageEnvironment } from '../storage/storage';
import type { TransactionHandle } from '../storage/transaction-handle';

/** `describe` and `it` of any test runner: Jest, Vitest and node:test all fit, so the kit imports none of them. */
export interface ConformanceRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

/** Makes the world of one fact: a store of its own, empty, on a clock that the fact moves. */
export type CreateHarness = (clock: FakeClock) => Promise<StorageHarness>;

/** What a provider's author supplies for each fact. */
export interface StorageHarness {
  /** Open, over an empty database, created with {@link conformanceEnvironment}. */
  readonly storage: Storage;

  /**
   * Opens one more store over the same database, as a second node would have it. A store that lives in one process answers
   * the same one again. `deviations` go to {@link conformanceEnvironment}; such a store has little work to do.
   */
  another(deviations?: Partial<StorageEnvironment>): Promise<Storage>;

  /** Stores that are not open yet, over one database without any schema. One store, `count` times, where only one can be. */
  unopened(count: number): Promise<readonly Storage[]>;

  /** Transactions of an application; null for a store that joins none, which must then refuse every handle. */
  readonly transactions: CallerTransactions | null;

  /** Closes every store that the harness handed out, and removes what it made. */
  dispose(): Promise<void>;
}

/** Transactions that an application opens on connections of its own. */
export interface CallerTransactions {
  /** On the store's database. */
  begin(): Promise<CallerTransaction>;
  /** On another database, with a Millrace schema of its own. */
  beginElsewhere(): Promise<CallerTransaction>;
}

export interface CallerTransaction {
  /** Shows whether the transaction is open, as a TypeORM `QueryRunner` does. */
  readonly handle: TransactionHandle;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

const silence = (): void => undefined;

/** What the kit's stores are created with: the fact's clock, silence, and a lock timeout that only a stuck lock reaches. */
export function conformanceEnvironment(
  clock: IClock,
  deviations: Partial<StorageEnvironment> = {},
): StorageEnvironment {
  return {
    clock,
    logger: { error: silence, warn: silence, log: silence, debug: silence },
    lockTimeout: 10 * SECOND,
    ...deviations,
  };
}
