import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SystemClock } from '../../../lib/storage';
import type { Dialect } from '../dialect';
import { runAsync } from '../runner';
import { compileStatement, valuesOf } from '../statement';
import { type Ledger, MIGRATIONS, readLedger, recordMigration, type SchemaMigration } from './migrator';
import { TABLES, type TableName } from './tables';

export type MigrationClass = new () => MigrationInterface;

// TypeORM orders migrations by the timestamp at the end of their names: that of version n is this one plus n.
const FIRST_TIMESTAMP = 1_790_000_000_000;

/**
 * The schema's migrations for an application that runs its migrations itself: `migrations: [...postgresMigrations()]`.
 * They write the same ledger as `autoCreateSchema`, so either may come first.
 */
export function typeormMigrations(dialect: Dialect): MigrationClass[] {
  return MIGRATIONS.map((migration) => {
    const name = `Millrace${migration.name}${FIRST_TIMESTAMP + migration.version}`;
    return class implements MigrationInterface {
      readonly name = name;

      async up(runner: QueryRunner): Promise<void> {
        await applyMigration(dialect, runner, migration);
      }

      async down(runner: QueryRunner): Promise<void> {
        if (migration.version !== 1) throw new Error(`${name} cannot be reverted.`);
        for (const table of Object.keys(TABLES)) await runner.query(`drop table ${dialect.table(table as TableName)}`);
      }
    };
  });
}

async function applyMigration(dialect: Dialect, runner: QueryRunner, migration: SchemaMigration): Promise<void> {
  const run = runOn(dialect, runner);
  if (dialect.schemaLock) await runner.query(dialect.schemaLock);
  const ledger: Ledger | null = await runAsync(readLedger(dialect), run);
  if (ledger && ledger.version >= migration.version) return;
  if (!ledger) for (const statement of dialect.createSchema) await runner.query(statement);
  for (const statement of migration.statements(dialect)) await runner.query(statement);
  await runAsync(recordMigration(migration, new SystemClock().now().getTime()), run);
}

function runOn(dialect: Dialect, runner: QueryRunner): Parameters<typeof runAsync>[1] {
  return async (step) => {
    if (step.kind !== 'query') return [];
    const statement = compileStatement(step.statement, dialect);
    const rows: unknown = await runner.query(statement.sql, valuesOf(statement, step.values));
    return Array.isArray(rows) ? rows : [];
  };
}
