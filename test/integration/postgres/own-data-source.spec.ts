import { Injectable } from '@nestjs/common';
import { IJobClient, Job, Retry } from 'nestjs-millrace';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { JobState } from 'nestjs-millrace/storage';
import { DataSource, type EntityManager } from 'typeorm';
import { postgresUrl } from '../../support/postgres-session';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  readonly shipped: number[] = [];

  @Job()
  async ship(order: number): Promise<void> {
    this.shipped.push(order);
  }

  @Job({ retry: Retry.none })
  async fail(): Promise<void> {
    throw new Error('There is no such order');
  }
}

describe("the application's own data source", () => {
  describeOnStores(['postgres'], (freshStore) => {
    describe.each([1, 2])('with a pool of %d', (poolSize) => {
      let application: DataSource;
      let schema: string;

      beforeEach(async () => {
        ({ schema } = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>);
        application = await new DataSource({ type: 'postgres', url: postgresUrl(), poolSize }).initialize();
      });

      afterEach(() => application.destroy());

      const start = (options: object = {}) =>
        RunningNode.start({
          store: postgresStorage({ dataSource: application, schema }),
          providers: [Orders],
          ...options,
        });

      it('carries everything, and is never closed', async () => {
        const node = await start();
        const enqueued = Array.from({ length: 50 }, (_, order) =>
          node.jobs.enqueue(Orders, (orders) => orders.ship(order)),
        );
        await Promise.all(enqueued);
        await node.allEnded();
        await node.close();

        expect(node.get(Orders).shipped).toHaveLength(50);
        expect(application.isInitialized).toBe(true);
        expect(await application.query('select 1 as one')).toEqual([{ one: 1 }]);
      });

      it('can give all its connections to transactions that call every method which joins one', async () => {
        await using node = await start();
        const dead = await node.jobs.enqueue(Orders, (orders) => orders.fail());
        await node.ended(dead);
        await node.jobs.pauseQueue('default');
        const { jobs } = node;
        const transact = (round: number) =>
          application.transaction(async (transaction: EntityManager) => {
            await transaction.query('select 1');
            const id = await jobs.enqueue(Orders, (orders) => orders.ship(round), { transaction });
            await jobs.upsertRecurring(`report ${round}`, '@daily', Orders, (orders) => orders.ship(round), {
              transaction,
            });
            await jobs.triggerRecurring(`report ${round}`, { transaction });
            const requeued = await jobs.requeue(dead, { transaction });
            const cancelled = await jobs.cancel(id, { transaction });
            await jobs.removeRecurring(`report ${round}`, { transaction });
            return { id, requeued, cancelled };
          });

        const results = await within(30_000, Promise.all([transact(1), transact(2), transact(3)]));

        for (const { id, requeued, cancelled } of results) {
          expect(cancelled).toBe(true);
          expect((await jobs.getJob(id))!.state).toBe(JobState.Cancelled);
          expect(await jobs.getJob(requeued!)).toMatchObject({ requeuedFrom: dead, state: JobState.Enqueued });
        }
        expect(await jobs.getRecurring('report 1')).toBeNull();
      });

      it('commits and rolls back the jobs of its transactions', async () => {
        await using node = await start();
        const enqueueIn = (fails: boolean) =>
          application
            .transaction(async (transaction: EntityManager) => {
              await Promise.all(
                [1, 2, 3].map((order) => node.jobs.enqueue(Orders, (orders) => orders.ship(order), { transaction })),
              );
              if (fails) throw new Error('The customer changed his mind');
            })
            .catch(() => undefined);

        await enqueueIn(true);
        await enqueueIn(false);
        await node.allEnded();

        expect(node.get(Orders).shipped.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
      });
    });

    it('that is not initialized stops the start, and the error says what to do', async () => {
      const dataSource = new DataSource({ type: 'postgres', url: postgresUrl() });

      const start = RunningNode.start({ store: postgresStorage({ dataSource }), startupTimeout: 500 });

      await expect(start).rejects.toThrow(/dataSource is not initialized.*initialize\(\)/);
    });

    it('of another database is refused at once', () => {
      const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' });

      expect(() => postgresStorage({ dataSource })).toThrow(
        /must be .* of type postgres, got one of type better-sqlite3/,
      );
      expect(() => postgresStorage({ dataSource: undefined as never })).toThrow(/got undefined/);
    });

    it('is used by the job client of any module through the ambient transaction', async () => {
      const application = await new DataSource({ type: 'postgres', url: postgresUrl() }).initialize();
      const { schema } = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
      let ambient: EntityManager | undefined;
      await using node = await RunningNode.start({
        store: postgresStorage({ dataSource: application, schema }),
        ambientTransaction: () => ambient,
        providers: [Orders],
      });

      const rolledBack = application.transaction(async (manager: EntityManager) => {
        ambient = manager;
        await node.app.get(IJobClient).enqueue(Orders, (orders) => orders.ship(1));
        throw new Error('The customer changed his mind');
      });
      await expect(rolledBack).rejects.toThrow('changed his mind');
      ambient = undefined;

      expect(await node.everyJob()).toEqual([]);
      await node.close();
      await application.destroy();
    });
  });
});

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${milliseconds} ms.`)), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
