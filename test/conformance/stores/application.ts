import type { CallerTransaction } from 'nestjs-millrace/conformance';
import type { DataSource } from 'typeorm';
import type { Disposables } from './disposables';

/** Opens a transaction as an application does, through TypeORM; one that is still open in the end is rolled back. */
export async function beginTransaction(dataSource: DataSource, disposables: Disposables): Promise<CallerTransaction> {
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction();
  disposables.add(async () => {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    if (!runner.isReleased) await runner.release();
  });
  return {
    handle: runner,
    commit: () => runner.commitTransaction(),
    rollback: () => runner.rollbackTransaction(),
  };
}
