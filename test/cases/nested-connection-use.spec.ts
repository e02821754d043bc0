import { Inject, Injectable } from '@nestjs/common';
import { IJobClient, Job } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { openSqlite } from '../support/sqlite-connection';
import { describeOnStores, type StoreAddress } from '../support/stores';

@Injectable()
class Orders {
  constructor(@Inject(IJobClient) private readonly jobs: IJobClient) {}

  @Job()
  async ship(order: number): Promise<void> {
    await this.jobs.enqueue(Orders, (orders) => orders.invoice(order));
  }

  @Job()
  async invoice(_order: number): Promise<void> {}
}

const JOBS = 200;

/** Ten jobs at a time, each of which enqueues another, while lists are read and others enqueue. */
async function busyHour(nodes: readonly RunningNode[]): Promise<void> {
  const [producer] = nodes as [RunningNode];
  const reading = { on: true };
  const reader = (async () => {
    while (reading.on) {
      await producer.monitoring.queryJobs({ limit: 50 });
      await producer.monitoring.getStatistics();
    }
  })();
  try {
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let index = 0; index < JOBS / 20; index++) {
        await producer.jobs.enqueue(Orders, (orders) => orders.ship(caller * 100 + index));
      }
    });
    await Promise.all(callers);
    await eventually(async () => expect(await producer.countOf(JobState.Succeeded)).toBe(2 * JOBS), 30_000);
  } finally {
    reading.on = false;
    await reader;
  }
}

describe('work that uses the store from inside other work', () => {
  describeOnStores(['postgres', 'mssql'], (freshStore) => {
    it.each([1, 2])('ends, through a pool of %d connections', async (poolSize) => {
      await using node = await RunningNode.start({
        store: freshStore(),
        settings: { poolSize },
        maxParallelism: 10,
        providers: [Orders],
      });

      await busyHour([node]);

      expect(node.log.complaints()).toEqual([]);
    });
  });

  describeOnStores(['sqlite'], (freshStore) => {
    const start = (store: StoreAddress) => RunningNode.start({ store, maxParallelism: 10, providers: [Orders] });

    it('ends, on one connection', async () => {
      await using node = await start(freshStore());

      await busyHour([node]);

      expect(node.log.complaints()).toEqual([]);
    });

    it('ends, on two connections to one file', async () => {
      const store = freshStore();
      await using one = await start(store);
      await using other = await start(store);

      await busyHour([one, other]);

      expect(one.log.complaints()).toEqual([]);
    });

    it("keeps its jobs when the application rolls its own transaction on the file back, and none of that transaction's rows", async () => {
      const store = freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>;
      await using node = await start(store);
      await using application = Object.assign(
        await new DataSource({ type: 'better-sqlite3', database: store.database }).initialize(),
        { [Symbol.asyncDispose]: async () => application.destroy() },
      );
      await application.query('create table orders (id integer)');

      const rolledBack = application.transaction(async (manager) => {
        await manager.query('insert into orders values (1)'); // holds the writer lock of the file from here on
        const enqueued = Array.from({ length: 10 }, (_, order) =>
          node.jobs.enqueue(Orders, (orders) => orders.invoice(order)),
        );
        // The enqueues wait for the lock; were it otherwise, they would be answered now.
        const first = await Promise.race([Promise.all(enqueued), new Promise((resolve) => setTimeout(resolve, 300))]);
        throw Object.assign(new Error('The customer changed his mind'), { enqueued, first });
      });
      const { enqueued, first } = (await rolledBack.catch((error: unknown) => error)) as {
        enqueued: Promise<string>[];
        first: unknown;
      };
      const ids = await Promise.all(enqueued);
      await node.allEnded();

      expect(first).toBeUndefined();
      for (const id of ids) expect((await node.jobs.getJob(id))!.state).toBe(JobState.Succeeded);
      using file = openSqlite(store.database);
      expect(file.prepare('select * from orders').all()).toEqual([]);
    });

    it("commits and rolls back with the application's transaction where it is told to join it", async () => {
      const store = freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>;
      await using node = await start(store);
      await using application = Object.assign(
        await new DataSource({ type: 'better-sqlite3', database: store.database }).initialize(),
        { [Symbol.asyncDispose]: async () => application.destroy() },
      );
      const enqueueAll = (numbers: number[]) =>
        application.transaction(async (transaction) => {
          const ids = await Promise.all(
            numbers.map((order) => node.jobs.enqueue(Orders, (orders) => orders.ship(order), { transaction })),
          );
          if (numbers.includes(0)) throw Object.assign(new Error('There is no order 0'), { ids });
          return ids;
        });

      const kept = await enqueueAll([1, 2, 3]);
      const lost = ((await enqueueAll([0, 4]).catch((error: unknown) => error)) as { ids: string[] }).ids;
      await node.allEnded();

      for (const id of kept) expect((await node.jobs.getJob(id))!.state).toBe(JobState.Succeeded);
      for (const id of lost) expect(await node.jobs.getJob(id)).toBeNull();
    });
  });
});
