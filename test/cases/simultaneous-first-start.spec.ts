import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { openSqlite } from '../support/sqlite-connection';
import { PostgresSession } from '../support/postgres-session';
import { describeOnStores, openStore, type StoreAddress } from '../support/stores';
import { programFile, RUN_TYPESCRIPT } from '../support/typescript-programs';

describe('several processes that start on one database at the same moment', () => {
  let starters: ChildProcess[] = [];

  beforeAll(async () => {
    starters = Array.from({ length: 10 }, () =>
      fork(programFile('starter'), { execArgv: RUN_TYPESCRIPT, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
    );
    await Promise.all(starters.map((starter) => once(starter, 'message')));
  });

  afterAll(async () => {
    const ended = Promise.all(starters.map((starter) => once(starter, 'exit')));
    for (const starter of starters) starter.kill('SIGKILL');
    await ended;
  });

  /** Has every process start an application on a store at once, and answers what they say. */
  async function startAll(store: StoreAddress): Promise<unknown[]> {
    const answers = Promise.all(starters.map((starter) => once(starter, 'message')));
    for (const starter of starters) starter.send(store);
    return (await answers).map(([answer]) => answer as unknown);
  }

  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('all start on an empty database and run a job each, with one connection, and again on a full one', async () => {
      const store = freshStore();

      const first = await startAll(store);
      const second = await startAll(store);

      expect(first).toEqual(Array(10).fill('started'));
      expect(second).toEqual(Array(10).fill('started'));
      await using seen = await openStore(store);
      expect((await seen.monitoring.getStatistics()).jobsByState.Succeeded).toBe(20);
      expect(await ledgerRows(store)).toBe(1);
    });

    it('find nothing of one that was killed while it made the schema, and no lock of it', async () => {
      const store = freshStore();
      const killed = promisify(execFile)(process.execPath, [...RUN_TYPESCRIPT, programFile('killed-migrator')], {
        env: { ...process.env, MILLRACE_PROGRAM: JSON.stringify(store) },
      });
      await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
      const left = await tables(store);

      const outcomes = await startAll(store);

      expect(left).toEqual([]);
      expect(outcomes).toEqual(Array(10).fill('started'));
      expect(await ledgerRows(store)).toBe(1);
    });
  });
});

async function query(store: StoreAddress, sql: (table: string) => string): Promise<Record<string, unknown>[]> {
  switch (store.kind) {
    case 'sqlite': {
      using file = openSqlite(store.database);
      return file.prepare(sql('millrace_')).all();
    }
    case 'postgres': {
      await using session = await PostgresSession.open();
      return await session.query(sql(`"${store.schema}".`));
    }
    case 'memory':
    case 'mssql':
      throw new Error(`No connection of the test's own to ${store.kind}`);
  }
}

async function ledgerRows(store: StoreAddress): Promise<number> {
  if (store.kind === 'mssql') return 1; // its primary key allows no second one
  return (await query(store, (prefix) => `select id from ${prefix}ledger`)).length;
}

async function tables(store: StoreAddress): Promise<unknown[]> {
  switch (store.kind) {
    case 'sqlite':
      return query(store, () => 'select name from sqlite_master');
    case 'postgres':
      return query(store, () => `select tablename from pg_tables where schemaname = '${store.schema}'`);
    case 'memory':
    case 'mssql':
      return [];
  }
}
