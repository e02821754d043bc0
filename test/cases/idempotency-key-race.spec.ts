import { setImmediate as othersTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InvalidArgumentError, ITenantContext, Job } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { DataSource, type EntityManager } from 'typeorm';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { PostgresSession } from '../support/postgres-session';
import { sqlServerDataSource } from '../support/sql-server';
import { describeOnStores, type StoreAddress } from '../support/stores';

@Injectable()
class Payments {
  @Job()
  async capture(): Promise<void> {}
}

const ROUNDS = 125;
const idle = { workerEnabled: false, schedulerEnabled: false };

describe('one idempotency key in many calls at once', () => {
  const start = (store: StoreAddress, options: object = idle) =>
    RunningNode.start({ store, providers: [Payments], ...options });
  const capture = (node: RunningNode, idempotencyKey: string) =>
    node.jobs.enqueue(Payments, (payments) => payments.capture(), { idempotencyKey });

  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore, kind) => {
    it('makes one job, whose id every caller gets', async () => {
      await using node = await start(freshStore());

      const ids = await Promise.all(Array.from({ length: 50 }, () => capture(node, 'payment 1')));

      expect(new Set(ids).size).toBe(1);
      expect((await node.everyJob()).map(({ id, idempotencyKey }) => [id, idempotencyKey])).toEqual([
        [ids[0], 'payment 1'],
      ]);
    });

    it('never answers with a job that had ended before the call', async () => {
      await using node = await start(freshStore(), {});
      const ended = new Set<string>();

      const caller = async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const endedBefore = new Set(ended);
          const id = await capture(node, 'payment 1');
          expect(endedBefore).not.toContain(id);
          while ((await node.jobs.getJob(id))!.state !== JobState.Succeeded) await othersTurn();
          ended.add(id);
        }
      };
      await Promise.all([caller(), caller(), caller(), caller()]);

      expect(ended.size).toBeGreaterThanOrEqual(ROUNDS);
      expect(await node.countOf(JobState.Succeeded)).toBe(ended.size);
    });

    it('is a key of its own for each tenant and for none; an empty tenant is refused', async () => {
      await using node = await start(freshStore());
      const tenants = node.app.get(ITenantContext);
      const captureFor = (tenant: string | null) => tenants.run(tenant, () => capture(node, 'payment 1'));

      const ids = [await captureFor(null), await captureFor('a'), await captureFor('b')];
      const again = [await captureFor(null), await captureFor('a'), await captureFor('b')];

      expect(new Set(ids).size).toBe(3);
      expect(again).toEqual(ids);
      await expect(captureFor('')).rejects.toBeInstanceOf(InvalidArgumentError);
    });

    if (kind === 'memory') return; // what follows takes a second process, or a database's own transactions

    it('makes one job across two processes', async () => {
      const store = freshStore();
      await using node = await start(store);
      await using child = await ChildNode.start({ store, options: idle });

      const labels = Array.from({ length: 25 }, (_, index) => `caller ${index}`);
      const [theirs, ours] = await Promise.all([
        child.call('notes', labels, { idempotencyKey: 'payment 1' }),
        Promise.all(labels.map(() => capture(node, 'payment 1'))),
      ]);

      expect(new Set([...theirs, ...ours]).size).toBe(1);
      expect(await node.everyJob()).toHaveLength(1);
    });

    it("leaves the caller's own transaction usable where another job holds it", async () => {
      const store = freshStore();
      await using node = await start(store);
      const holder = await capture(node, 'payment 1');
      await using application = await openApplication(store);

      const ids = await application.source.transaction(async (transaction: EntityManager) => {
        const captureHere = (idempotencyKey: string) =>
          node.jobs.enqueue(Payments, (payments) => payments.capture(), { idempotencyKey, transaction });
        const answers = [
          await captureHere('payment 1'),
          await captureHere('payment 2'),
          await captureHere('payment 2'),
        ];
        await transaction.query('select 1 as usable');
        return answers;
      });

      expect(ids[0]).toBe(holder);
      expect(ids[1]).toBe(ids[2]);
      expect(await node.everyJob()).toHaveLength(2);
    });
  });

  describeOnStores(['postgres'], (freshStore) => {
    it('still makes one job when the session that was first dies before it commits', async () => {
      const store = freshStore();
      await using node = await start(store);
      await using first = await PostgresSession.open();
      await using admin = await PostgresSession.open();
      const backend = await first.backend();
      await first.query('begin');
      const lost = await node.jobs.enqueue(Payments, (payments) => payments.capture(), {
        idempotencyKey: 'payment 1',
        transaction: first,
      });

      const waiting = Promise.all(Array.from({ length: 5 }, () => capture(node, 'payment 1')));
      await eventually(async () => {
        const [row] = await admin.query<{ blocked: number }>(
          'select count(*)::int as blocked from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
          [backend],
        );
        expect(row!.blocked).toBeGreaterThan(0);
      });
      await admin.terminate('pid = $1', [backend]);
      const ids = await waiting;

      expect(new Set(ids).size).toBe(1);
      expect(ids).not.toContain(lost);
      expect((await node.everyJob()).map(({ id }) => id)).toEqual([ids[0]]);
    });
  });
});

function dataSourceOf(store: Exclude<StoreAddress, { kind: 'memory' }>): DataSource {
  switch (store.kind) {
    case 'sqlite':
      return new DataSource({ type: 'better-sqlite3', database: store.database });
    case 'postgres':
      return new DataSource({ type: 'postgres', url: store.url });
    case 'mssql':
      return sqlServerDataSource(store.url);
  }
}

/** The application's own connection to the database where Millrace keeps its jobs. */
async function openApplication(store: StoreAddress): Promise<{ source: DataSource } & AsyncDisposable> {
  if (store.kind === 'memory') throw new Error('Memory has no connections');
  const source = await dataSourceOf(store).initialize();
  return { source, [Symbol.asyncDispose]: () => source.destroy() };
}
