import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CallerTransaction,
  conformanceEnvironment,
  type CreateHarness,
  FakeClock,
} from 'nestjs-millrace/conformance';
import { sqliteStorage } from 'nestjs-millrace/sqlite';
import type { Storage, StorageEnvironment, StorageRegistration } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { beginTransaction } from './application';
import { Disposables } from './disposables';

let emptyDatabase: Promise<Buffer> | undefined;

/** A folder for each fact, and in it a file for each database that the fact needs. */
export const sqliteHarness: CreateHarness = async (clock) => {
  const disposables = new Disposables();
  const folder = makeFolder(disposables);
  writeFileSync(join(folder, 'millrace.db'), await (emptyDatabase ??= makeEmptyDatabase()));

  const create = (file: string, deviations?: Partial<StorageEnvironment>): Storage => {
    const environment = conformanceEnvironment(clock, deviations);
    const storage = register(join(folder, file), environment).create(environment);
    disposables.add(() => storage.close());
    return storage;
  };
  const open = async (file: string, deviations?: Partial<StorageEnvironment>): Promise<Storage> => {
    const storage = create(file, deviations);
    await storage.open();
    return storage;
  };
  const begin = async (file: string): Promise<CallerTransaction> => {
    const dataSource = new DataSource({ type: 'better-sqlite3', database: join(folder, file) });
    await dataSource.initialize();
    disposables.add(() => dataSource.destroy());
    return beginTransaction(dataSource, disposables);
  };

  return {
    storage: await open('millrace.db'),
    another: (deviations) => open('millrace.db', deviations),
    unopened: (count) => Promise.resolve(Array.from({ length: count }, () => create('unopened.db'))),
    transactions: {
      begin: () => begin('millrace.db'),
      beginElsewhere: async () => {
        await open('elsewhere.db');
        return begin('elsewhere.db');
      },
    },
    dispose: () => disposables.dispose(),
  };
};

// No fact can cut the power, so none needs to wait for the disk.
function register(database: string, { lockTimeout }: StorageEnvironment): StorageRegistration {
  return sqliteStorage({ database, busyTimeout: lockTimeout, synchronous: 'normal' });
}

function makeFolder(disposables: Disposables): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-conformance-'));
  disposables.add(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The file that opening a store for the first time leaves behind; a copy for each fact costs less than to make it anew. */
async function makeEmptyDatabase(): Promise<Buffer> {
  const disposables = new Disposables();
  const database = join(makeFolder(disposables), 'millrace.db');
  const environment = conformanceEnvironment(new FakeClock());
  const storage = register(database, environment).create(environment);
  await storage.open();
  await storage.close();
  const content = readFileSync(database);
  await disposables.dispose();
  return content;
}
