import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { InvalidTransactionError, LockTimeoutError } from 'nestjs-millrace/storage';
import { DataSource, type EntityManager } from 'typeorm';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { openSqlite } from '../../support/sqlite-connection';
import { describeOnStores, type StoreAddress } from '../../support/stores';

@Injectable()
class Orders {
  @Job()
  async ship(_order: number): Promise<void> {}
}

type SqliteAddress = Extract<StoreAddress, { kind: 'sqlite' }>;

/** Counts how often timers of this process have had their turn. */
class TimerTurns implements Disposable {
  count = 0;
  private readonly timer = setInterval(() => this.count++, 5);

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }
}

describe("the writer lock of a SQLite file in somebody else's hands", () => {
  describeOnStores(['sqlite'], (freshStore) => {
    let store: SqliteAddress;
    let node: RunningNode;

    /** A node that waits so long for the lock, in milliseconds. */
    const start = (busyTimeout: number) =>
      RunningNode.start({
        store,
        settings: { busyTimeout },
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Orders],
      });

    beforeEach(async () => {
      store = freshStore() as SqliteAddress;
      node = await start(600);
    });

    afterEach(() => node.close());

    const enqueue = (order: number, on = node) =>
      on.jobs.enqueue(Orders, (orders) => orders.ship(order), { idempotencyKey: `order ${order}` });

    it('is waited for without blocking the event loop, however many wait', async () => {
      await using patient = await start(60_000); // were it to block while it waits, nobody could end the wait
      using holder = openSqlite(store.database);
      holder.exec('begin immediate');
      using turns = new TimerTurns();

      const enqueued = Promise.all(Array.from({ length: 60 }, (_, order) => enqueue(order, patient)));
      await eventually(() => expect(turns.count).toBeGreaterThan(40));
      const whileHeld = await Promise.race([enqueued, Promise.resolve('waiting')]);
      holder.exec('commit');
      const ids = await enqueued;

      expect(whileHeld).toBe('waiting');
      expect(new Set(ids).size).toBe(60);
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
      using turns = new TimerTurns();

      const giveUpAt = performance.now() + 20_000;
      for (let order = 0; turns.count < 20 && performance.now() < giveUpAt; order++) {
        await node.jobs.enqueue(Orders, (orders) => orders.ship(order));
      }

      expect(turns.count).toBeGreaterThanOrEqual(20);
    });
  });
});
