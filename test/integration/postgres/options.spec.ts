import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { postgresMigrations, postgresStorage } from 'nestjs-millrace/postgres';
import { JobState } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { PostgresSession } from '../../support/postgres-session';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  readonly shipped: number[] = [];

  @Job()
  async ship(order: number): Promise<void> {
    this.shipped.push(order);
  }
}

describe('the options of postgresStorage', () => {
  const url = 'postgres://postgres@127.0.0.1:1/postgres';

  it.each(['', 'Millrace', 'mill-race', 'mill"race', '1st', 'pg; drop schema public', 'x'.repeat(55), 'mühle'])(
    'refuse the schema %p at once, and say what one may be',
    (schema) => {
      const expected = /schema must be 1 to 54 lowercase letters, digits and underscores/;

      expect(() => postgresStorage({ url, schema })).toThrow(expected);
      expect(() => postgresMigrations({ schema })).toThrow(expected);
    },
  );

  it.each([{ url: '' }, { url: undefined as never }, {} as never])('refuse %p, which has no address', (options) => {
    expect(() => postgresStorage(options)).toThrow(/url must be an address such as 'postgres:/);
  });

  it.each([0, -1, 1.5, '10' as never, Number.NaN])('refuse a pool of %p', (poolSize) => {
    expect(() => postgresStorage({ url, poolSize })).toThrow(/poolSize must be a whole number of 1 or more/);
  });

  it('open nothing before the application starts', () => {
    expect(postgresStorage({ url }).provider).toBe('postgres');
  });

  describeOnStores(['postgres'], (freshStore) => {
    it.each(['x'.repeat(54), '_', 'select'])('take the schema %p', async (name) => {
      const { schema, ...store } = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
      const unique = name.length === 54 ? schema.padEnd(54, 'x') : name;
      await using admin = await PostgresSession.open();
      {
        await using node = await RunningNode.start({
          store: postgresStorage({ url: store.url, schema: unique }),
          providers: [Orders],
        });

        const id = await node.jobs.enqueue(Orders, (orders) => orders.ship(1));

        expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
      }
      await admin.query(`drop schema "${unique}" cascade`);
    });

    it.each([true, false])(
      'prepare statements by name, for a proxy that pools transactions not: %p',
      async (prepared) => {
        const { schema, ...store } = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
        const dataSource = await new DataSource({ type: 'postgres', url: store.url, poolSize: 1 }).initialize();
        const node = await RunningNode.start({
          store: postgresStorage({ dataSource, schema, preparedStatements: prepared }),
          providers: [Orders],
        });

        for (let order = 0; order < 5; order++) await node.jobs.enqueue(Orders, (orders) => orders.ship(order));
        await node.allEnded();
        await node.close();

        const names = await dataSource.query('select name from pg_prepared_statements');
        expect(node.get(Orders).shipped).toHaveLength(5);
        expect(names.length > 0).toBe(prepared);
        await dataSource.destroy();
      },
    );
  });
});
