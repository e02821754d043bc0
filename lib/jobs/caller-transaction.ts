import type { ResolvedMillraceOptions } from '../millrace.options';
import { InvalidTransactionError } from '../storage/storage.errors';
import type { TransactionHandle } from '../storage/transaction-handle';
import type { TransactionOptions } from './enqueue-options';

/**
 * The transaction that a call joins: the one it was given, else the ambient one; undefined for none.
 *
 * @throws {InvalidTransactionError} it is no handle, or shows that no transaction is open
 */
export function callerTransaction(
  options: TransactionOptions | undefined,
  { ambientTransaction }: Pick<ResolvedMillraceOptions, 'ambientTransaction'>,
): TransactionHandle | undefined {
  const given = options?.transaction;
  const transaction = given ?? ambientTransaction?.() ?? undefined;
  if (transaction !== undefined) refuseClosed(transaction, given === undefined ? 'ambientTransaction' : 'transaction');
  return transaction;
}

function refuseClosed(transaction: TransactionHandle, name: string): void {
  if (typeof transaction?.query !== 'function') {
    throw new InvalidTransactionError(
      `${name} must be the application's open transaction: an EntityManager or QueryRunner of TypeORM.`,
    );
  }
  if (!showsClosed(transaction)) return;
  throw new InvalidTransactionError(
    `${name} has no open transaction, so the job would be stored whatever becomes of yours. ` +
      'Pass the manager that dataSource.transaction() gives its callback, or a query runner after startTransaction().',
  );
}

/** A manager without a query runner (it can begin transactions, and is in none), or a query runner outside of one. */
function showsClosed(handle: TransactionHandle & { transaction?: unknown }): boolean {
  const active = handle.isTransactionActive ?? handle.queryRunner?.isTransactionActive;
  return active === undefined ? typeof handle.transaction === 'function' : !active;
}
