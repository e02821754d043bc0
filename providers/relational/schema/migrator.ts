import { randomUUID } from 'node:crypto';
import { SchemaVersionError } from '../../../lib/storage';
import type { Dialect } from '../dialect';
import { type Operation, query } from '../operation';
import type { Statement } from '../statement';
import { createTable } from './ddl';
import { INITIAL_TABLES } from './migrations/0001-initial';
import type { TableName } from './tables';

/** One step of the schema. Numbered, append-only, frozen once released. */
export interface SchemaMigration {
  readonly version: number;
  readonly name: string;
  /** The oldest code that can work on the schema after this step. Additive steps never raise it. */
  readonly minCodeVersion: number;
  statements(dialect: Dialect): readonly string[];
}

export const MIGRATIONS: readonly SchemaMigration[] = [
  {
    version: 1,
    name: 'Initial',
    minCodeVersion: 1,
    statements: (dialect) =>
      Object.entries(INITIAL_TABLES).flatMap(([name, table]) => createTable(dialect, name as TableName, table)),
  },
];

/** The schema that this code knows. */
export const CODE_VERSION = 1;

/** What the ledger says of the schema. */
export interface Ledger {
  readonly version: number;
  readonly minCodeVersion: number;
  readonly storeId: string;
}

const READ_LEDGER: Statement = {
  name: 'read_ledger',
  text: (d) => `select version, min_code_version, store_id from ${d.table('ledger')} where id = 1`,
};
const INSERT_LEDGER: Statement = {
  name: '',
  text: (d) =>
    `insert into ${d.table('ledger')} (id, version, min_code_version, store_id, updated_at) ` +
    'values (1, :version, :minCodeVersion, :storeId, :now)',
};
const UPDATE_LEDGER: Statement = {
  name: '',
  text: (d) =>
    `update ${d.table('ledger')} set version = :version, min_code_version = :minCodeVersion, updated_at = :now where id = 1`,
};

/** Reads the ledger; null for a database without a schema of ours. */
export function* readLedger(dialect: Dialect): Operation<Ledger | null> {
  const [found] = yield* query({ name: '', text: () => dialect.tableExists('ledger') }, {});
  if (!found) return null;
  const [row] = yield* query(READ_LEDGER, {});
  if (!row) return null;
  return {
    version: Number(row['version']),
    minCodeVersion: Number(row['min_code_version']),
    storeId: String(row['store_id']),
  };
}

/**
 * Creates or upgrades the schema. Runs in one transaction under a lock that all processes share, so ten nodes may start
 * at once, and a node that is killed half way leaves the schema as it was.
 */
export function* migrate(dialect: Dialect, now: number): Operation<Ledger> {
  if (dialect.schemaLock) yield* query(plain(dialect.schemaLock), {});
  const before = yield* readLedger(dialect);
  if (!before) for (const statement of dialect.createSchema) yield* query(plain(statement), {});
  yield* applyMigrations(dialect, before, now);
  const ledger = yield* readLedger(dialect);
  if (!ledger) throw new SchemaVersionError('The schema of Millrace was created and cannot be read.');
  return ledger;
}

function* applyMigrations(dialect: Dialect, before: Ledger | null, now: number): Operation<void> {
  for (const migration of MIGRATIONS) {
    if (migration.version <= (before?.version ?? 0)) continue;
    for (const statement of migration.statements(dialect)) yield* query(plain(statement), {});
    yield* recordMigration(migration, now);
  }
}

/** Writes the ledger row of a migration that has just been applied. */
export function* recordMigration({ version, minCodeVersion }: SchemaMigration, now: number): Operation<void> {
  if (version === 1) yield* query(INSERT_LEDGER, { version, minCodeVersion, storeId: randomUUID(), now });
  else yield* query(UPDATE_LEDGER, { version, minCodeVersion, now });
}

/**
 * Checks that this code can work on the schema.
 *
 * @param howToMigrate the way out that the error names, for a schema that is missing or too old
 * @throws {SchemaVersionError}
 */
export function checkLedger(ledger: Ledger | null, howToMigrate: string): Ledger {
  if (!ledger)
    throw new SchemaVersionError(`The database has no Millrace schema, and autoCreateSchema is off. ${howToMigrate}`);
  if (ledger.version < CODE_VERSION) {
    throw new SchemaVersionError(
      `The Millrace schema has version ${ledger.version}, this code needs ${CODE_VERSION}, and autoCreateSchema is off. ${howToMigrate}`,
    );
  }
  if (isTooNew(ledger)) {
    throw new SchemaVersionError(
      `The Millrace schema has version ${ledger.version} and needs code of schema version ${ledger.minCodeVersion} or newer; ` +
        `this code has ${CODE_VERSION}. Upgrade nestjs-millrace.`,
    );
  }
  return ledger;
}

/** A newer schema is refused only when it says that this code cannot work on it: old and new nodes share it in a deploy. */
export function isTooNew(ledger: Pick<Ledger, 'minCodeVersion'>): boolean {
  return ledger.minCodeVersion > CODE_VERSION;
}

function plain(text: string): Statement {
  return { name: '', text: () => text };
}
