import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { newId, newJob, Retry, type StorageSignal } from 'nestjs-millrace/storage';
import { eventually } from '../../support/eventually';
import { PostgresSession } from '../../support/postgres-session';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';
import { TcpProxy } from '../../support/tcp-proxy';

@Injectable()
class Orders {
  readonly shipped: string[] = [];

  @Job()
  async ship(order: string): Promise<void> {
    this.shipped.push(order);
  }
}

/** A node that looks for work only when it is woken. */
const WOKEN_ONLY = { schedulerInterval: '1h', minPollDelay: '1h', maxPollDelay: '1h' };

const aJob = (queue = 'default') =>
  newJob({
    id: newId(new Date()),
    createdAt: new Date(),
    queue,
    handler: 'Orders.ship',
    args: '["o-1"]',
    retry: Retry.none,
  });

describe('the connection that listens for wake-ups', () => {
  describeOnStores(['postgres'], (freshStore) => {
    const newStore = () => freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;

    it('wakes a node of another process for its queue as soon as a job is committed', async () => {
      const store = newStore();
      await using producer = await openStore(store);
      await using node = await RunningNode.start({ store, providers: [Orders], ...WOKEN_ONLY });

      await producer.jobs.enqueue([aJob('of nobody')]);
      await producer.jobs.enqueue([aJob()]);

      await eventually(() => expect(node.get(Orders).shipped).toEqual(['o-1']));
    });

    it("follows the commit of the application's own transaction", async () => {
      const store = newStore();
      await using producer = await openStore(store);
      await using application = await PostgresSession.open();
      await using node = await RunningNode.start({ store, providers: [Orders], ...WOKEN_ONLY });
      const signals: StorageSignal[] = [];
      producer.notifier!.subscribe((signal) => signals.push(signal));

      await application.query('begin');
      await producer.jobs.enqueue([aJob()], application);
      await producer.jobs.enqueue([aJob('another')]); // commits at once, so its signal comes first
      await eventually(() => expect(signals).toEqual([{ kind: 'ready', queue: 'another' }]));
      await application.query('commit');

      await eventually(() => expect(signals).toContainEqual({ kind: 'ready', queue: 'default' }));
      await eventually(() => expect(node.get(Orders).shipped).toEqual(['o-1']));
    });

    it('is made anew when the server ends it, which wakes as a signal would: some may have been missed', async () => {
      const store = newStore();
      await using proxy = await TcpProxy.start(store.url);
      await using producer = await openStore(store);
      const { schema, url } = store;
      await using node = await RunningNode.start({
        store: postgresStorage({ url, schema, listen: { url: proxy.urlOf(url) } }),
        providers: [Orders],
        ...WOKEN_ONLY,
      });
      await producer.jobs.enqueue([aJob()]);
      await eventually(() => expect(node.get(Orders).shipped).toHaveLength(1));

      proxy.cut();
      await eventually(() => expect(node.log.complaints('listens for wake-ups')).toHaveLength(1));
      await producer.jobs.enqueue([aJob()]); // nobody hears of it
      const missed = node.get(Orders).shipped.length;
      proxy.mend();

      await eventually(() => expect(node.get(Orders).shipped).toHaveLength(2));
      expect(missed).toBe(1);
      expect(node.log.lines.filter(({ text }) => text.includes('Listening for wake-ups again'))).toHaveLength(1);
      expect(node.log.complaints()).toHaveLength(1);
    });

    it('asks a running job to stop at once', async () => {
      const store = newStore();
      await using producer = await openStore(store);
      const signals: StorageSignal[] = [];
      producer.notifier!.subscribe((signal) => signals.push(signal));
      const job = aJob();
      await producer.jobs.enqueue([job]);
      await producer.jobs.claim({
        workerId: 'worker',
        queues: ['default'],
        limit: 1,
        leaseDuration: 60_000,
        maxPayload: 1_000,
        expired: false,
        suspects: false,
      });

      await producer.jobs.cancel(job.id);

      await eventually(() => expect(signals).toContainEqual({ kind: 'cancel', id: job.id }));
    });

    it('is left out where it is switched off: the node polls, and nothing is lost', async () => {
      const { url, schema } = newStore();
      await using node = await RunningNode.start({
        store: postgresStorage({ url, schema, listen: false }),
        providers: [Orders],
      });
      await using admin = await PostgresSession.open();

      await node.jobs.enqueue(Orders, (orders) => orders.ship('o-1'));
      await node.allEnded();

      const listeners = await admin.query('select pid from pg_stat_activity where query = $1', [
        `listen "millrace_${schema}"`,
      ]);
      expect(listeners).toEqual([]);
    });

    it('cannot keep the application from starting: without it the node polls, and says so', async () => {
      const { url, schema } = newStore();
      await using node = await RunningNode.start({
        store: postgresStorage({ url, schema, listen: { url: 'postgres://postgres@127.0.0.1:1/postgres' } }),
        providers: [Orders],
      });

      await node.jobs.enqueue(Orders, (orders) => orders.ship('o-1'));
      await node.allEnded();

      expect(node.log.complaints('listens for wake-ups')).toHaveLength(1);
    });
  });
});
