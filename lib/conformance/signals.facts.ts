import assert from 'node:assert/strict';
import { later, SECOND } from '../model/time';
import { claimBy } from './builders';
import { assertEqual, assertSameInstance, assertSameJson } from './expectations';
import { inParallel, inRounds, started, stateOf, statesOf, storedJob, takeOne } from './steps';
import type { FactSuite } from './world';
import { aBookmark, aSignal } from './workflow-builders';

/** Guarantee 4: a wait is ended once, and the end of a wait and its resume job are one. */
export function signalFacts({ describe, fact }: FactSuite): void {
  describe('signals', () => {
    fact('consume a wait and store its resume job, which knows where the wait stood', async (world) => {
      const { workflows, clock } = world;
      const position = '{"node":"sig1","path":[["each1",3]]}';
      const instance = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { position, scope: 'each1.3/' })],
      }));
      const signal = aSignal(clock);

      assert.equal(await workflows.signal({ ...signal, job: { ...signal.job, args: '[{"isApproved":true}]' } }), true);

      assertEqual(await workflows.getBookmarks(instance.id), []);
      const job = await storedJob(world, signal.job.id);
      assertEqual(
        [job.state, job.instanceId, job.scope, job.handler],
        ['Enqueued', instance.id, 'each1.3/', signal.job.handler],
      );
      assertSameJson(job.position, position);
      assertSameJson(job.args, '[{"isApproved":true}]');
      assert.equal((await takeOne(world.jobs, claimBy('w1'))).id, job.id);
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('answer false when nobody waits, and leave nothing behind', async (world) => {
      const signal = aSignal(world.clock);

      assert.equal(await world.workflows.signal(signal), false);

      assert.equal(await stateOf(world, signal.job), null);
      await started(world, {}, (made) => ({ bookmarks: [aBookmark(world.clock, made)] }));
      assertEqual(await world.jobs.claim(claimBy('w1')), []);
    });

    fact('of another name, key or tenant do not match', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, { tenantId: 'acme' }, (made) => ({ bookmarks: [aBookmark(clock, made)] }));
      const others = [
        { name: 'rejection' },
        { name: 'Approval' },
        { correlationId: 'order-2' },
        { correlationId: 'order-1 ' },
        { tenantId: 'umbrella' },
        { tenantId: '' },
        { tenantId: null },
      ];

      for (const other of others) {
        const signal = aSignal(clock, { tenantId: 'acme', ...other });
        assert.equal(await workflows.signal(signal), false, JSON.stringify(other));
        assert.equal(await stateOf(world, signal.job), null);
      }

      assert.equal((await workflows.getBookmarks(instance.id)).length, 1);
      assert.equal(await workflows.signal(aSignal(clock, { tenantId: 'acme' })), true);
    });

    fact('without a tenant match waits without a tenant alone', async (world) => {
      const { workflows, clock } = world;
      await started(world, { tenantId: null }, (made) => ({ bookmarks: [aBookmark(clock, made)] }));

      assert.equal(await workflows.signal(aSignal(clock, { tenantId: 'acme' })), false);
      assert.equal(await workflows.signal(aSignal(clock, { tenantId: '' })), false);
      assert.equal(await workflows.signal(aSignal(clock)), true);
    });

    fact('from eight senders at once end one wait once', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      await inRounds(5, async (round) => {
        const correlationId = `order-${round}`;
        await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made, { correlationId })] }));
        const signals = Array.from({ length: 8 }, () => aSignal(clock, { correlationId }));

        const answers = await Promise.all(
          signals.map((signal, n) => nodes[n % 2 === 0 ? 0 : 1].workflows.signal(signal)),
        );

        assert.equal(answers.filter(Boolean).length, 1);
        const states = await statesOf(
          world,
          signals.map(({ job }) => job.id),
        );
        assertEqual(
          states,
          answers.map((delivered) => (delivered ? 'Enqueued' : null)),
        );
      });
    });

    fact('from eight senders at once end eight waits', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      const instance = await started(world, {}, (made) => ({
        bookmarks: Array.from({ length: 8 }, () => aBookmark(clock, made)),
      }));

      const answers = await inParallel(8, (n) => nodes[n % 2 === 0 ? 0 : 1].workflows.signal(aSignal(clock)));

      assertEqual(answers, Array<boolean>(8).fill(true));
      assertEqual(await world.workflows.getBookmarks(instance.id), []);
      assert.equal((await world.jobs.claim(claimBy('w1', { limit: 20 }))).length, 8);
    });

    fact('end the oldest wait first, then the next, then none', async (world) => {
      const { workflows, clock } = world;
      const newer = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { createdAt: later(clock.now(), SECOND) })],
      }));
      const older = await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made)] }));
      const signals = [aSignal(clock), aSignal(clock), aSignal(clock)];

      const answers = [];
      for (const signal of signals) answers.push(await workflows.signal(signal));

      assertEqual(answers, [true, true, false]);
      const resumed = await Promise.all(signals.slice(0, 2).map(({ job }) => storedJob(world, job.id)));
      assertEqual(
        resumed.map(({ instanceId }) => instanceId),
        [older.id, newer.id],
      );
    });

    fact('end the wait with the smaller id first when both began at one instant', async (world) => {
      const { workflows, clock } = world;
      const tail = '7000-8000-000000000000';
      const [small, large] = [`00000000-00ff-${tail}`, `0000ff00-0000-${tail}`];
      const instance = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { id: large }), aBookmark(clock, made, { id: small })],
      }));

      await workflows.signal(aSignal(clock));

      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [large],
      );
    });

    fact('end one of two equal waits of one instance each', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { scope: 'par1.0/' }), aBookmark(clock, made, { scope: 'par1.1/' })],
      }));
      const [first, second] = [aSignal(clock), aSignal(clock)];

      assert.equal(await workflows.signal(first), true);
      assert.equal((await workflows.getBookmarks(instance.id)).length, 1);
      assert.equal(await workflows.signal(second), true);

      const scopes = [await storedJob(world, first.job.id), await storedJob(world, second.job.id)].map(
        ({ scope }) => scope,
      );
      assertEqual(scopes, ['par1.0/', 'par1.1/']);
    });
  });
}
