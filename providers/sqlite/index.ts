import type { StorageRegistration } from '../../lib/storage';
import { RelationalStorage } from '../relational/relational-storage';
import { type MigrationClass, typeormMigrations } from '../relational/schema/typeorm-migrations';
import { SqliteConnection } from './sqlite.connection';
import { sqliteDialect } from './sqlite.dialect';
import { resolveSqliteOptions, type SqliteStorageOptions } from './sqlite.options';

/**
 * Jobs in one SQLite file: durability without a server. Millrace opens a connection of its own, also to a file that the
 * application uses.
 *
 * @throws {InvalidArgumentError} at once, naming the option
 */
export function sqliteStorage(options: SqliteStorageOptions): StorageRegistration {
  const resolved = resolveSqliteOptions(options);
  return {
    provider: 'sqlite',
    create: (environment) => new RelationalStorage(new SqliteConnection(resolved), environment),
  };
}

/** The schema as TypeORM migrations, for use with `autoCreateSchema: false`. */
export function sqliteMigrations(): MigrationClass[] {
  return typeormMigrations(sqliteDialect);
}

export type { SqliteStorageOptions } from './sqlite.options';
