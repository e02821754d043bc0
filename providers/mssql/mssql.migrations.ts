import { type MigrationClass, typeormMigrations } from '../relational/schema/typeorm-migrations';
import { sqlServerDialect } from './mssql.dialect';
import { checkedSchema } from './mssql.options';

/**
 * The schema as TypeORM migrations, for use with `autoCreateSchema: false`: list them under `migrations` of the data
 * source that runs with the rights to change the schema.
 */
export function sqlServerMigrations({ schema = 'millrace' }: { readonly schema?: string } = {}): MigrationClass[] {
  return typeormMigrations(sqlServerDialect(checkedSchema(schema)));
}
