import { InvalidArgumentError } from '../../model/errors';
import type { StorageRegistration } from '../storage';
import { InMemoryStorage } from './in-memory.storage';

export interface InMemoryStorageOptions {
  /**
   * Finished jobs kept, the oldest going first. Jobs of a workflow stay until their instance has ended and go with it; the
   * newest job of every recurring definition stays. Default 10,000.
   */
  readonly keepFinished?: number;
  /**
   * What to do with a caller's transaction: `refuse` it, since nothing here could be rolled back with it, or `apply` the
   * operation at once (what the test host does). Default `refuse`.
   */
  readonly callerTransactions?: 'refuse' | 'apply';
}

const PROVIDER = 'in-memory';

/** Jobs in this process's memory: for development and tests. A restart loses them all. */
export function inMemoryStorage(options: InMemoryStorageOptions = {}): StorageRegistration {
  const { keepFinished = 10_000, callerTransactions = 'refuse' } = options;
  if (keepFinished !== Infinity && !(Number.isInteger(keepFinished) && keepFinished >= 0)) {
    throw new InvalidArgumentError(
      `inMemoryStorage: keepFinished must be a whole number of 0 or more, or Infinity, got ${String(keepFinished)}.`,
    );
  }
  if (callerTransactions !== 'refuse' && callerTransactions !== 'apply') {
    throw new InvalidArgumentError(
      `inMemoryStorage: callerTransactions must be 'refuse' or 'apply', got ${String(callerTransactions)}.`,
    );
  }
  return {
    provider: PROVIDER,
    create: (environment) => new InMemoryStorage(environment, PROVIDER, { keepFinished, callerTransactions }),
  };
}
