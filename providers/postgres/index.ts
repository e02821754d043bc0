import type { StorageRegistration } from '../../lib/storage';
import { RelationalStorage } from '../relational/relational-storage';
import { PostgresConnection } from './postgres.connection';
import { type PostgresStorageOptions, resolvePostgresOptions } from './postgres.options';

/**
 * Jobs in PostgreSQL 14 or newer: `postgresStorage({ url })`, or `postgresStorage({ dataSource })` with the application's
 * own TypeORM data source.
 *
 * @throws {InvalidArgumentError} at once, naming the option
 */
export function postgresStorage(options: PostgresStorageOptions): StorageRegistration {
  const resolved = resolvePostgresOptions(options);
  return {
    provider: 'postgres',
    create: (environment) => new RelationalStorage(new PostgresConnection(resolved, environment), environment),
  };
}

export { postgresMigrations } from './postgres.migrations';
export type {
  CommonPostgresOptions,
  OwnDataSourceOptions,
  OwnPoolOptions,
  PostgresStorageOptions,
} from './postgres.options';
