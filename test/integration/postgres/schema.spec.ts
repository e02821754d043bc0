import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { postgresMigrations, postgresStorage, type PostgresStorageOptions } from 'nestjs-millrace/postgres';
import { JobState, SystemClock } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { countingProbes } from '../../support/counting-probes';
import { eventually } from '../../support/eventually';
import { PostgresSession } from '../../support/postgres-session';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  @Job()
  async ship(): Promise<void> {}
}

const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

describe('the PostgreSQL schema', () => {
  describeOnStores(['postgres'], (freshStore) => {
    let store: Extract<StoreAddress, { kind: 'postgres' }>;
    let admin: PostgresSession;

    beforeEach(async () => {
      store = freshStore() as typeof store;
      admin = await PostgresSession.open();
    });

    afterEach(() => admin[Symbol.asyncDispose]());

    const storage = (options: Partial<PostgresStorageOptions> = {}) =>
      postgresStorage({ url: store.url, schema: store.schema, ...options });
    const start = (options: Partial<PostgresStorageOptions> = {}) =>
      RunningNode.start({ store: storage(options), startupTimeout: '1s', providers: [Orders] });
    const setLedger = (assignments: string) => admin.query(`update "${store.schema}".ledger set ${assignments}`);

    async function migrate(): Promise<DataSource> {
      const source = new DataSource({
        type: 'postgres',
        url: store.url,
        migrations: postgresMigrations({ schema: store.schema }),
        migrationsTableName: `migrations_${store.schema}`,
      });
      await source.initialize();
      await source.runMigrations();
      return source;
    }

    async function forget(source: DataSource): Promise<void> {
      await source.query(`drop table migrations_${store.schema}`);
      await source.destroy();
    }

    it('is not made where that is switched off, and the error says how to make it', async () => {
      await expect(start({ autoCreateSchema: false })).rejects.toMatchObject({
        code: 'MILLRACE_SCHEMA_VERSION',
        message: expect.stringContaining(`postgresMigrations({ schema: '${store.schema}' })`),
      });

      const made = await admin.query('select 1 from pg_namespace where nspname = $1', [store.schema]);
      expect(made).toEqual([]);
    });

    it.each([false, true])(
      "can be made by the application's own migrations, which a later start finds done (autoCreateSchema: %s)",
      async (autoCreateSchema) => {
        const source = await migrate();
        const again = await source.runMigrations();
        const [before] = await admin.query(`select * from "${store.schema}".ledger`);

        await using node = await start({ autoCreateSchema });
        const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());
        const job = await node.ended(id);

        expect(again).toEqual([]);
        expect(job.state).toBe(JobState.Succeeded);
        expect(await admin.query(`select * from "${store.schema}".ledger`)).toEqual([before]);
        await forget(source);
      },
    );

    it('is the same whether a start or the migrations make it', async () => {
      const describeSchema = (schema: string) =>
        admin.query(
          `select table_name, column_name, data_type, collation_name, is_nullable, column_default
             from information_schema.columns where table_schema = $1 order by 1, 2`,
          [schema],
        );
      const describeIndexes = async (schema: string) =>
        (await admin.query('select indexdef from pg_indexes where schemaname = $1 order by 1', [schema])).map(
          ({ indexdef }) => String(indexdef).replaceAll(schema, 'millrace'),
        );
      const source = await migrate();
      const started = freshStore() as typeof store;
      await (await openStore(started)).close();

      expect(await describeSchema(started.schema)).toEqual(await describeSchema(store.schema));
      expect(await describeIndexes(started.schema)).toEqual(await describeIndexes(store.schema));
      await forget(source);
    });

    it('made by a start is left alone by migrations that come later, and can be reverted', async () => {
      await (await openStore(store)).close();
      const [before] = await admin.query(`select * from "${store.schema}".ledger`);

      const source = await migrate();
      const [after] = await admin.query(`select * from "${store.schema}".ledger`);
      await source.undoLastMigration();

      expect(after).toEqual(before);
      expect(await admin.query('select 1 from pg_tables where schemaname = $1', [store.schema])).toEqual([]);
      await forget(source);
    });

    it.each(['is not there', 'is there and empty'])(
      'is made once by ten stores that open at the same moment: it %s',
      async (state) => {
        if (state.includes('empty')) await admin.query(`create schema "${store.schema}"`);
        const stores = Array.from({ length: 10 }, () =>
          storage({ poolSize: 1, listen: false }).create({
            clock: new SystemClock(),
            logger: silent,
            lockTimeout: 5_000,
          }),
        );

        await Promise.all(stores.map((each) => each.open()));
        await Promise.all(stores.map((each) => each.close()));

        expect(await admin.query(`select version from "${store.schema}".ledger`)).toEqual([{ version: 1 }]);
      },
    );

    it('of a newer version is worked on where it says that this code can', async () => {
      await (await openStore(store)).close();
      await setLedger('version = 7');

      await using node = await start();
      const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());

      expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
    });

    it.each([false, true])(
      'of a newer version is refused where it says that this code cannot (autoCreateSchema: %s)',
      async (autoCreateSchema) => {
        await (await openStore(store)).close();
        await setLedger('version = 7, min_code_version = 7');

        await expect(start({ autoCreateSchema })).rejects.toMatchObject({
          code: 'MILLRACE_SCHEMA_VERSION',
          message: expect.stringMatching(/version 7 .*this code has 1\. Upgrade nestjs-millrace/),
        });
      },
    );

    it('that becomes too new under a running node stops its claims, once said, until it fits again', async () => {
      const { store: probed, probes } = countingProbes(storage());
      await using node = await RunningNode.start({ store: probed, providers: [Orders] });
      await setLedger('version = 7, min_code_version = 7');
      await eventually(() => expect(node.log.complaints('too new for this node')).toHaveLength(1));
      const id = await node.jobs.enqueue(Orders, (orders) => orders.ship());
      const before = probes();
      await eventually(() => expect(probes()).toBeGreaterThan(before + 3)); // each would have had it claim
      const whileTooNew = await node.jobs.getJob(id);

      await setLedger('version = 1, min_code_version = 1');

      expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
      expect(whileTooNew).toMatchObject({ state: JobState.Enqueued, attempt: 0 });
      expect(node.log.complaints('too new for this node')).toHaveLength(1);
    });
  });
});
