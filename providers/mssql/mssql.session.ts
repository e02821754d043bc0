import type { DataSource, QueryRunner } from 'typeorm';
import { type AsyncDriver, LOCK_SLICE, type Session } from '../relational/async-database';
import type { Row } from '../relational/operation';
import type { CompiledStatement, Value } from '../relational/statement';
import { boundedBy, callOf, readCommitted, yieldingInDeadlocks } from './mssql.calls';

/** Sessions over the pool of a TypeORM data source of type `mssql`. */
export class SqlServerDriver implements AsyncDriver {
  constructor(private readonly dataSource: DataSource) {}

  async acquire(): Promise<SqlServerSession> {
    return new SqlServerSession(this.dataSource.createQueryRunner());
  }
}

/** Takes a connection from the pool for each transaction, and outside of one for each statement. */
export class SqlServerSession implements Session {
  private inTransaction = false;

  constructor(private readonly runner: QueryRunner) {}

  async run(statement: CompiledStatement, given: readonly Value[]): Promise<readonly Row[]> {
    const { sql, values } = callOf(statement.sql, given);
    const bounded = boundedBy(LOCK_SLICE, yieldingInDeadlocks(this.inTransaction ? sql : readCommitted(sql)));
    // The rows tell what a statement did: the counts that the server sends include those of other statements of the batch.
    const { records } = await this.runner.query(bounded, values, true);
    return (records as readonly Row[] | undefined) ?? [];
  }

  async begin(): Promise<void> {
    await this.runner.startTransaction('READ COMMITTED');
    this.inTransaction = true;
  }

  async commit(): Promise<void> {
    await this.runner.commitTransaction();
    this.inTransaction = false;
  }

  async rollback(): Promise<void> {
    await this.runner.rollbackTransaction();
    this.inTransaction = false;
  }

  /** SQL Server cannot push: the next probe finds the job. */
  async wake(): Promise<void> {}

  async release(): Promise<void> {
    await this.runner.release();
  }
}
