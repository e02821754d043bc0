import assert from 'node:assert/strict';
import { LATEST_INSTANT, later, MINUTE, SECOND } from '../model/time';
import { aContinuation, aJob, anId, aScheduledJob, claimBy, dead, failed, stopped, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, backingOff, claimed, inParallel, stateOf, statesOf, storedJob, takeOne } from './steps';
import type { FactSuite } from './world';

/** Time-driven work becomes claimable when it is due, once, and not before. */
export function schedulingFacts({ describe, fact }: FactSuite): void {
  describe('activation', () => {
    fact('moves what is due, the earliest first, within its limit', async (world) => {
      const { jobs, clock } = world;
      const dueIn = (minutes: number) => aScheduledJob(clock, later(clock.now(), minutes * MINUTE));
      const [second, future, third, first] = [dueIn(-2), dueIn(5), dueIn(-1), dueIn(-3)];
      await jobs.enqueue([second, future, third, first]);
      const ids = [first.id, second.id, third.id, future.id];

      assert.equal(await jobs.activateDue(2), 2);
      assertEqual(await statesOf(world, ids), ['Enqueued', 'Enqueued', 'Scheduled', 'Scheduled']);
      assert.equal((await storedJob(world, first.id)).dueAt, null);

      assert.equal(await jobs.activateDue(2), 1);
      assertEqual(await statesOf(world, ids), ['Enqueued', 'Enqueued', 'Enqueued', 'Scheduled']);
      assert.equal(await jobs.activateDue(2), 0);
    });

    fact('goes by age among jobs that are due at one instant', async (world) => {
      const { jobs, clock } = world;
      const three = [0, 1, 2].map(() => aScheduledJob(clock, clock.now()));
      for (const job of three) await jobs.enqueue([job]);

      await jobs.activateDue(2);

      assertEqual(
        await statesOf(
          world,
          three.map(({ id }) => id),
        ),
        ['Enqueued', 'Enqueued', 'Scheduled'],
      );
    });

    fact('moves a job at its due time, not a millisecond before', async (world) => {
      const { jobs, clock } = world;
      const job = aScheduledJob(clock, later(clock.now(), MINUTE));
      await jobs.enqueue([job]);

      clock.advance(MINUTE - 1);
      assert.equal(await jobs.activateDue(10), 0);

      clock.advance(1);
      assert.equal(await jobs.activateDue(10), 1);
      assert.equal(await stateOf(world, job), 'Enqueued');
    });

    fact('gives a job its place in the queue by its due time', async (world) => {
      const { jobs, clock } = world;
      const dueAt = later(clock.now(), MINUTE);
      const job = aScheduledJob(clock, dueAt);
      await jobs.enqueue([job]);
      clock.advance(5 * MINUTE);

      await jobs.activateDue(10);

      assertEqual((await storedJob(world, job.id)).readyAt, dueAt);
    });

    fact('lets a job that was due before it was created jump no queue', async (world) => {
      const { jobs, clock } = world;
      const backdated = aScheduledJob(clock, new Date('1969-07-20T20:17:40.123Z'));
      await jobs.enqueue([backdated]);

      assert.equal(await jobs.activateDue(10), 1);

      assertEqual((await storedJob(world, backdated.id)).readyAt, backdated.createdAt);
    });

    fact('brings a failed job back when its delay has passed, with its count of failures', async (world) => {
      const { jobs, clock } = world;
      const dueAt = later(clock.now(), 30 * SECOND);
      const job = await backingOff(world, dueAt);
      assert.equal(await jobs.activateDue(10), 0);

      clock.advance(31 * SECOND);
      assert.equal(await jobs.activateDue(10), 1);

      const stored = await storedJob(world, job.id);
      assertEqual([stored.state, stored.dueAt, stored.readyAt], ['Enqueued', null, dueAt]);
      const again = await takeOne(jobs, claimBy('w1'));
      assertEqual([again.attempt, again.failures], [2, 1]);
    });

    fact('leaves alone what waits for a parent, and what runs', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      const child = aContinuation(clock, parent.id);
      await jobs.enqueue([child]);
      clock.advance(MINUTE);

      assert.equal(await jobs.activateDue(10), 0);
      assertEqual(await statesOf(world, [parent.id, child.id]), ['Processing', 'Awaiting']);
    });

    fact('by eight nodes at once moves each job once', async (world) => {
      const { jobs, clock } = world;
      const nodes = await world.nodes();
      const fifty = Array.from({ length: 50 }, () => aScheduledJob(clock, clock.now()));
      await jobs.enqueue(fifty);

      const counts = await inParallel(8, (n) => activateAll(nodes[n % 2 === 0 ? 0 : 1].jobs));
      // A pass may find nothing because others held what is due; whatever that left is still there.
      counts.push(await activateAll(jobs));

      assert.equal(
        counts.reduce((sum, count) => sum + count),
        50,
      );
      assert.equal((await jobs.claim(claimBy('w1', { limit: 100 }))).length, 50);
    });

    fact('can wait until the end of the year 9999', async (world) => {
      const { jobs, clock } = world;
      const job = aScheduledJob(clock, LATEST_INSTANT);
      await jobs.enqueue([job]);

      assert.equal(await jobs.activateDue(10), 0);
      assertEqual((await storedJob(world, job.id)).dueAt, LATEST_INSTANT);

      clock.set(LATEST_INSTANT);
      assert.equal(await jobs.activateDue(10), 1);
    });
  });

  describe('run now', () => {
    fact('ends the wait of a failed job, and spends nothing', async (world) => {
      const { jobs, clock } = world;
      const job = await backingOff(world, later(clock.now(), 60 * MINUTE));
      clock.advance(MINUTE);

      assert.equal(await jobs.runNow(job.id), true);

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.dueAt, stored.attempt, stored.failures, stored.lastError, stored.readyAt],
        ['Enqueued', null, 1, 1, 'boom', clock.now()],
      );
      assert.equal((await takeOne(jobs, claimBy('w2'))).attempt, 2);
    });

    fact('refuses a job in any other state, and changes nothing of it', async (world) => {
      const { jobs, clock } = world;
      const parent = aJob(clock, { queue: 'parents' });
      const scheduled = aScheduledJob(clock, later(clock.now(), MINUTE));
      const awaiting = aContinuation(clock, parent.id);
      await jobs.enqueue([parent, scheduled, awaiting]);
      const ended = [];
      for (const end of [succeeded, dead, stopped]) {
        const job = await claimed(world);
        await applied(jobs, end(job));
        ended.push(job);
      }
      const running = await claimed(world);

      for (const { id } of [parent, scheduled, awaiting, ...ended, running]) {
        const before = await storedJob(world, id);

        assert.equal(await jobs.runNow(id), false, before.state);

        assertEqual(await storedJob(world, id), before);
      }
    });

    fact('answers false for an unknown job', async ({ jobs, clock }) => {
      assert.equal(await jobs.runNow(anId(clock)), false);
    });

    fact('and activation at one moment make a job claimable once', async (world) => {
      const { clock } = world;
      const [one, other] = await world.nodes();
      const job = await backingOff(world, clock.now());

      const [ran, activated] = await Promise.all([one.jobs.runNow(job.id), other.jobs.activateDue(10)]);

      assert.equal(Number(ran) + activated, 1);
      const again = await takeOne(world.jobs, claimBy('w2'));
      await applied(world.jobs, failed(again, clock.now()));
      assert.equal((await storedJob(world, job.id)).failures, 2);
    });
  });
}

async function activateAll(jobs: { activateDue(limit: number): Promise<number> }): Promise<number> {
  let total = 0;
  for (let count = await jobs.activateDue(10); count > 0; count = await jobs.activateDue(10)) total += count;
  return total;
}
