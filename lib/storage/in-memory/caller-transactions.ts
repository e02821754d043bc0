import { InvalidTransactionError } from '../storage.errors';
import type { TransactionHandle } from '../transaction-handle';

/** What becomes of operations that are to join a caller's transaction: memory cannot be rolled back with a database. */
export class CallerTransactions {
  constructor(private readonly rule: 'refuse' | 'apply') {}

  /** @throws {InvalidTransactionError} before anything is written */
  check(transaction: TransactionHandle | undefined): void {
    if (transaction === undefined) return;
    if (this.rule === 'refuse') {
      throw new InvalidTransactionError(
        'The in-memory storage cannot join a transaction: what it holds would not be rolled back with it. Leave the ' +
          "transaction out, or have operations applied at once with inMemoryStorage({ callerTransactions: 'apply' }).",
      );
    }
    if (transaction.isTransactionActive === false || transaction.queryRunner?.isTransactionActive === false) {
      throw new InvalidTransactionError(
        'The transaction is not open. Pass the manager that the transaction was given.',
      );
    }
  }
}
