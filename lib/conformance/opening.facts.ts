import assert from 'node:assert/strict';
import { aJob, claimBy } from './builders';
import { assertEqual, rejectsWith } from './expectations';
import { inParallel, stateOf } from './steps';
import type { FactSuite } from './world';

/** A store is opened by many processes at once, and they all see one database. */
export function openingFacts({ describe, fact }: FactSuite): void {
  describe('opening and closing', () => {
    fact('opens an empty database from eight nodes at once', async ({ unopened, clock }) => {
      const nodes = await unopened(8);

      await Promise.all(nodes.map((node) => node.open()));

      await Promise.all(nodes.map((node) => node.jobs.enqueue([aJob(clock)])));
      for (const node of nodes) assert.equal((await node.jobs.claim(claimBy('w1', { limit: 1 }))).length, 1);
    });

    fact(
      'opens a database that is current already, and leaves its jobs alone',
      async ({ storage, jobs, another, clock }) => {
        const job = aJob(clock);
        await jobs.enqueue([job]);

        await another();

        assert.equal(await stateOf(storage, job), 'Enqueued');
      },
    );

    fact('shows a second node what the first one wrote', async ({ jobs, another, clock }) => {
      const second = await another();
      const job = aJob(clock);

      await jobs.enqueue([job]);

      assert.equal(await stateOf(second, job), 'Enqueued');
      assertEqual(
        (await second.jobs.claim(claimBy('w2'))).map(({ id }) => id),
        [job.id],
      );
    });

    fact('names the provider and the version of its server', async ({ storage }) => {
      const info = await storage.getInfo();

      assert.notEqual(info.provider, '');
      assert.match(info.serverVersion, /\d+\.\d+/);
    });

    fact('refuses every call before it is opened and after it is closed', async ({ unopened, clock }) => {
      const [store] = await unopened(1);
      assert.ok(store);
      const calls = [
        () => store.jobs.enqueue([aJob(clock)]),
        () => store.jobs.claim(claimBy('w1')),
        () => store.workflows.getInstances([]),
        () => store.monitoring.getStatistics(),
      ];
      for (const call of calls) await rejectsWith('MILLRACE_STORAGE_CLOSED', call());

      await store.open();
      for (const call of calls) await call();
      await store.close();

      for (const call of calls) await rejectsWith('MILLRACE_STORAGE_CLOSED', call());
    });

    fact('closes once, however often it is asked to', async ({ unopened }) => {
      const [store] = await unopened(1);
      assert.ok(store);
      await store.open();

      await inParallel(2, () => store.close());
      await store.close();
    });
  });
}
