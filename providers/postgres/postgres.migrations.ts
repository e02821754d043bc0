import { type MigrationClass, typeormMigrations } from '../relational/schema/typeorm-migrations';
import { postgresDialect } from './postgres.dialect';
import { checkedSchema } from './postgres.options';

/**
 * The schema as TypeORM migrations, for use with `autoCreateSchema: false`: list them under `migrations` of the data
 * source that runs with the rights to change the schema.
 */
export function postgresMigrations({ schema = 'millrace' }: { readonly schema?: string } = {}): MigrationClass[] {
  return typeormMigrations(postgresDialect(checkedSchema(schema)));
}
