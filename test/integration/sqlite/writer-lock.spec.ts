import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { InvalidTransactionError, LockTimeoutError } from 'nestjs-millrace/storage';
import { DataSource, type EntityManager } from 'typeorm';
import { EventLoopLag } from '../../support/event-loop-lag';
import { RunningNode } from '../../support/running-node';
import { openSqlite } from '../../support/sqlite-connection';
import { describeOnStores, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  @Job()
  async ship(_order: number): Promise<void> {}
}

type SqliteAddress = Extract<StoreAddress, { kind: 'sqlite' }>;
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

describe("the writer lock of a SQLite file in somebody else's hands", () => {
  describeOnStores(['sqlite'], (freshStore) => {
    let store: SqliteAddress;
    let node: RunningNode;

    beforeEach(async () => {
      store = freshStore() as SqliteAddress;
      node = await RunningNode.start({
        store,
        settings: { busyTimeout: 600 },
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Orders],
      });
    });

    afterEach(() => node.close());

    const enqueue = (order: number, idempotencyKey = `order ${order}`) =>
      node.jobs.enqueue(Orders, (orders) => orders.ship(order), { idempotencyKey });

    it('is waited for without blocking the event loop, however many wait', async () => {
      using holder = openSqlite(store.database);
      holder.exec('begin immediate');
      using lag = new EventLoopLag();

      const enqueued = Promise.all(Array.from({ length: 60 }, (_, order) => enqueue(order)));
      await pause(300);
      const whileHeld = await Promise.race([enqueued, Promise.resolve('waiting')]);
      holder.exec('commit');
      const ids = await enqueued;

      expect(whileHeld).toBe('waiting');
      expect(new Set(ids).size).toBe(60);
      expect(lag.longest).toBeLessThan(150);
    });

    it('is waited for no longer than busyTimeout, and the error says what to do', async () => {
      using holder = openSqlite(store.database);
      holder.exec('begin immediate');

      const startedAt = performance.now();
      const error = await enqueue(1).catch((thrown: unknown) => thrown as Error);
      const took = performance.now() - startedAt;
      holder.exec('commit');
      const afterwards = await enqueue(1);

      expect(error).toBeInstanceOf(LockTimeoutError);
      expect((error as Error).message).toMatch(
        /idempotency key "order 1" after 600 ms.*\{ transaction \}.*busyTimeout/,
      );
      expect(took).toBeGreaterThan(550);
      expect(took).toBeLessThan(3_000);
      expect((await node.everyJob()).map(({ id }) => id)).toEqual([afterwards]);
    });

    it('does not keep readers from reading', async () => {
      const id = await enqueue(1);
      using holder = openSqlite(store.database);
      holder.exec('begin immediate');
      holder.exec('create table orders (id integer)');

      const job = await node.jobs.getJob(id);

      expect(job!.id).toBe(id);
      holder.exec('rollback');
    });

    it('cannot be had by a transaction that read before somebody wrote: the error says how to begin it', async () => {
      const application = await new DataSource({ type: 'better-sqlite3', database: store.database }).initialize();

      const error = await application
        .transaction(async (transaction: EntityManager) => {
          await transaction.query('select count(*) from millrace_jobs'); // it sees the file as it is now from here on
          await enqueue(1);
          await node.jobs.enqueue(Orders, (orders) => orders.ship(2), { transaction });
        })
        .catch((thrown: unknown) => thrown as Error);

      expect(error).toBeInstanceOf(InvalidTransactionError);
      expect((error as Error).message).toMatch(/Begin it with BEGIN IMMEDIATE/);
      expect(await node.everyJob()).toHaveLength(1);
      await application.destroy();
    });
  });
});

describe('a loop of operations on a SQLite file', () => {
  describeOnStores(['sqlite'], (freshStore) => {
    it('lets timers and sockets have their turn, though none of them waits for any', async () => {
      await using node = await RunningNode.start({
        store: freshStore(),
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Orders],
      });
      using lag = new EventLoopLag();

      const startedAt = performance.now();
      for (let order = 0; performance.now() - startedAt < 400; order++) {
        await node.jobs.enqueue(Orders, (orders) => orders.ship(order));
      }

      expect(lag.longest).toBeLessThan(150);
    });
  });
});
