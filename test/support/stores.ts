import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IClock, type Storage, type StorageRegistration, SystemClock } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { postgresUrl } from './postgres-session';
import { sqlServerDataSource } from './sql-server';
import { registrationOf, type StoreAddress, type StoreKind, type StoreSettings } from './store-address';

export type { StoreAddress, StoreKind } from './store-address';

const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

/** The store of a test seen from outside of every node. */
export async function openStore(
  store: StoreAddress | StorageRegistration,
  settings?: StoreSettings,
  clock: IClock = new SystemClock(),
): Promise<Storage & AsyncDisposable> {
  const registration = 'create' in store ? store : registrationOf(store, settings);
  const storage = registration.create({ clock, logger: silent, lockTimeout: 5_000 });
  await storage.open();
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

// Nodes and child processes share two cores with everything else that runs.
jest.setTimeout(60_000);

const mssqlUrl = process.env['MILLRACE_TEST_MSSQL'];
let count = 0;

/**
 * Describes a behaviour once for each kind of store; SQL Server counts as skipped where there is none. `freshStore` gives
 * every test a store of its own, which goes when the file has ended.
 */
export function describeOnStores(
  kinds: readonly StoreKind[],
  body: (freshStore: () => StoreAddress, kind: StoreKind) => void,
): void {
  for (const kind of kinds) {
    const run = kind === 'mssql' && mssqlUrl === undefined ? describe.skip : describe;
    run(`on ${kind}`, () => {
      const made: StoreAddress[] = [];
      afterAll(() => dropStores(made));
      body(() => {
        const address = newAddress(kind);
        made.push(address);
        return address;
      }, kind);
    });
  }
}

function newAddress(kind: StoreKind): StoreAddress {
  const name = `case_${process.pid}_${Date.now().toString(36)}_${++count}`;
  switch (kind) {
    case 'memory':
      return { kind, name };
    case 'sqlite':
      return { kind, database: join(mkdtempSync(join(tmpdir(), 'millrace-case-')), 'jobs.db') };
    case 'postgres':
      return { kind, url: postgresUrl(), schema: name };
    case 'mssql':
      return { kind, url: mssqlUrl!, schema: name };
  }
}

async function dropStores(stores: readonly StoreAddress[]): Promise<void> {
  for (const store of stores) {
    if (store.kind === 'sqlite') rmSync(join(store.database, '..'), { recursive: true, force: true });
    else if (store.kind === 'postgres' || store.kind === 'mssql') await dropSchema(store);
  }
}

async function dropSchema({ kind, url, schema }: Extract<StoreAddress, { schema: string }>): Promise<void> {
  const source = await (kind === 'mssql' ? sqlServerDataSource(url) : new DataSource({ type: kind, url })).initialize();
  try {
    if (kind === 'postgres') {
      await source.query(`drop schema if exists "${schema}" cascade`);
      return;
    }
    const tables: { name: string }[] = await source.query(
      `select t.name from sys.tables t join sys.schemas s on s.schema_id = t.schema_id where s.name = '${schema}'`,
    );
    for (const { name } of tables) await source.query(`drop table [${schema}].[${name}]`);
    await source.query(`if schema_id('${schema}') is not null exec('drop schema [${schema}]')`);
  } finally {
    await source.destroy();
  }
}
