import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { sqliteMigrations, sqliteStorage } from 'nestjs-millrace/sqlite';
import { JobState, SystemClock } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { countingProbes } from '../../support/counting-probes';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { openSqlite } from '../../support/sqlite-connection';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  @Job()
  async ship(): Promise<void> {}
}

const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

describe('the SQLite schema', () => {
  describeOnStores(['sqlite'], (freshStore) => {
    let database: string;

    beforeEach(() => {
      ({ database } = freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>);
    });

    const start = (autoCreateSchema: boolean) =>
      RunningNode.start({
        store: sqliteStorage({ database, autoCreateSchema }),
        startupTimeout: '1s',
        providers: [Orders],
      });

    function ask(sql: string, file = database): Record<string, unknown>[] {
      using connection = openSqlite(file);
      connection.pragma('busy_timeout = 1000');
      return connection.prepare(sql).all();
    }

    function setLedger(assignments: string): void {
      using connection = openSqlite(database);
      connection.pragma('busy_timeout = 1000');
      connection.exec(`update millrace_ledger set ${assignments}`);
    }

    async function migrate(): Promise<DataSource> {
      const source = new DataSource({ type: 'better-sqlite3', database, migrations: sqliteMigrations() });
      await source.initialize();
      await source.runMigrations();
      return source;
    }

    it('is not made where that is switched off, and the error says how to make it', async () => {
      await expect(start(false)).rejects.toMatchObject({
        code: 'MILLRACE_SCHEMA_VERSION',
        message: expect.stringContaining('sqliteMigrations()'),
      });

      expect(ask('select name from sqlite_master')).toEqual([]);
    });

    it.each([false, true])(
      "can be made by the application's own migrations, which a later start finds done (autoCreateSchema: %s)",
      async (autoCreateSchema) => {
        const source = await migrate();
        const again = await source.runMigrations();
        await source.destroy();
        const before = ask('select * from millrace_ledger');

        await using node = await start(autoCreateSchema);
        const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());

        expect(again).toEqual([]);
        expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
        expect(ask('select * from millrace_ledger')).toEqual(before);
      },
    );

    it('is the same whether a start or the migrations make it, and migrations leave one alone that is there', async () => {
      const schemaOf = (file: string) =>
        ask(`select sql from sqlite_master where name like '%millrace%' and sql is not null order by name`, file);
      await (await migrate()).destroy();
      const { database: started } = freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>;
      await (await openStore(sqliteStorage({ database: started }))).close();
      const before = ask('select * from millrace_ledger', started);

      const source = new DataSource({ type: 'better-sqlite3', database: started, migrations: sqliteMigrations() });
      await source.initialize();
      await source.runMigrations();
      const after = ask('select * from millrace_ledger', started);
      const same = [schemaOf(started), schemaOf(database)];
      await source.undoLastMigration();
      await source.destroy();

      expect(after).toEqual(before);
      expect(same[0]).toEqual(same[1]);
      expect(schemaOf(started)).toEqual([]);
    });

    it('is made once by ten stores that open at the same moment', async () => {
      const stores = Array.from({ length: 10 }, () =>
        sqliteStorage({ database }).create({ clock: new SystemClock(), logger: silent, lockTimeout: 5_000 }),
      );

      await Promise.all(stores.map((each) => each.open()));
      await Promise.all(stores.map((each) => each.close()));

      expect(ask('select version from millrace_ledger')).toEqual([{ version: 1 }]);
    });

    it('of a newer version is worked on where it says that this code can, and refused where it cannot', async () => {
      await (await openStore(sqliteStorage({ database }))).close();
      setLedger('version = 7');
      {
        await using node = await start(true);
        const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());
        expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
      }

      setLedger('min_code_version = 7');

      await expect(start(true)).rejects.toMatchObject({
        code: 'MILLRACE_SCHEMA_VERSION',
        message: expect.stringMatching(/version 7 .*this code has 1\. Upgrade nestjs-millrace/),
      });
    });

    it('that becomes too new under a running node stops its claims, once said, until it fits again', async () => {
      const { store, probes } = countingProbes(sqliteStorage({ database }));
      await using node = await RunningNode.start({ store, providers: [Orders] });
      setLedger('version = 7, min_code_version = 7');
      await eventually(() => expect(node.log.complaints('too new for this node')).toHaveLength(1));
      const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());
      const before = probes();
      await eventually(() => expect(probes()).toBeGreaterThan(before + 3)); // each would have had it claim
      const whileTooNew = await node.jobs.getJob(id);

      setLedger('version = 1, min_code_version = 1');

      expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
      expect(whileTooNew).toMatchObject({ state: JobState.Enqueued, attempt: 0 });
      expect(node.log.complaints('too new for this node')).toHaveLength(1);
    });

    it.each([{ database: '' }, { database: '  ' }, { database: undefined as never }, {} as never])(
      'has no place in %p',
      (options) => {
        expect(() => sqliteStorage(options)).toThrow(/database must be the path of a file, or ':memory:'/);
      },
    );

    it.each([
      [{ synchronous: 'off' as never }, /synchronous must be 'full' or 'normal'/],
      [{ busyTimeout: -1 }, /busyTimeout/],
      [{ busyTimeout: 'soon' }, /busyTimeout/],
    ])('is refused with %p', (options, message) => {
      expect(() => sqliteStorage({ database, ...options })).toThrow(message);
    });
  });
});
