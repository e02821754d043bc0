import type { StorageRegistration } from '../../lib/storage';
import { RelationalStorage } from '../relational/relational-storage';
import { SqlServerConnection } from './mssql.connection';
import { resolveSqlServerOptions, type SqlServerStorageOptions } from './mssql.options';

/**
 * Jobs in SQL Server 2016 SP1 or newer, or in Azure SQL: `sqlServerStorage({ url })`, or `sqlServerStorage({ dataSource })`
 * with the application's own TypeORM data source. SQL Server cannot push, so workers poll.
 *
 * @throws {InvalidArgumentError} at once, naming the option
 */
export function sqlServerStorage(options: SqlServerStorageOptions): StorageRegistration {
  const resolved = resolveSqlServerOptions(options);
  return {
    provider: 'mssql',
    create: (environment) => new RelationalStorage(new SqlServerConnection(resolved, environment.logger), environment),
  };
}

export { sqlServerMigrations } from './mssql.migrations';
export type {
  CommonSqlServerOptions,
  OwnDataSourceOptions,
  OwnPoolOptions,
  SqlServerStorageOptions,
} from './mssql.options';
