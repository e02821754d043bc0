import assert from 'node:assert/strict';
import { MINUTE } from '../model/time';
import { aJob, anId, claimBy, dead, failed, released, stopped, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, applyOne, claimed, detailsOf, inRounds, settle, stateOf, statesOf, storedJob } from './steps';
import type { FactSuite } from './world';

/** A job is ended by the worker that has it, and by no other. */
export function fenceFacts({ describe, fact }: FactSuite): void {
  describe('the fence', () => {
    fact('refuses another worker, and changes nothing', async (world) => {
      const job = await claimed(world, {}, 'w1');

      const result = await applyOne(world.jobs, succeeded({ ...job, workerId: 'w2' }));

      assertEqual(result, { outcome: 'fenced' });
      assert.equal(await stateOf(world, job), 'Processing');
    });

    fact('refuses another attempt, and changes nothing', async (world) => {
      const job = await claimed(world);

      const result = await applyOne(world.jobs, succeeded({ ...job, attempt: job.attempt + 1 }));

      assertEqual(result, { outcome: 'fenced' });
      assert.equal(await stateOf(world, job), 'Processing');
    });

    fact('refuses a job that nobody has claimed, and one that never was', async (world) => {
      const job = await claimed(world);
      await applied(world.jobs, released(job));

      assertEqual(await applyOne(world.jobs, succeeded(job)), { outcome: 'fenced' });
      assertEqual(await applyOne(world.jobs, succeeded({ ...job, id: anId(world.clock) })), { outcome: 'fenced' });
      assert.equal(await stateOf(world, job), 'Enqueued');
    });

    fact('writes nothing of a transition that it refuses', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const followUp = aJob(clock);

      await applyOne(jobs, dead({ ...job, workerId: 'w2' }, { enqueue: [followUp] }));

      assert.equal(await stateOf(world, followUp), null);
      assertEqual((await detailsOf(world, job.id)).attempts, []);
    });

    fact('lets one of two racing outcomes through, with what belongs to it', async (world) => {
      const { clock } = world;
      const [one, other] = await world.nodes();
      await inRounds(10, async () => {
        const job = await claimed(world);
        const [afterSuccess, afterDeath] = [aJob(clock, { queue: 'next' }), aJob(clock, { queue: 'next' })];

        const outcomes = await Promise.all([
          settle(one.jobs, succeeded(job, { enqueue: [afterSuccess] })),
          settle(other.jobs, dead(job, { enqueue: [afterDeath] })),
        ]);

        const succeededFirst = outcomes[0].outcome === 'applied';
        assertEqual(outcomes.map(({ outcome }) => outcome).toSorted(), ['applied', 'fenced']);
        assertEqual(
          await statesOf(world, [job.id, afterSuccess.id, afterDeath.id]),
          succeededFirst ? ['Succeeded', 'Enqueued', null] : ['Dead', null, 'Enqueued'],
        );
      });
    });

    fact('never lets a job leave a terminal state', async (world) => {
      const { jobs, clock } = world;
      for (const end of [succeeded, dead, stopped]) {
        const job = await claimed(world);
        await applied(jobs, end(job));
        const { state } = await storedJob(world, job.id);
        clock.advance(60 * MINUTE);

        assert.equal((await applyOne(jobs, failed(job, clock.now()))).outcome, 'fenced');
        assert.equal(await jobs.cancel(job.id), false);
        assert.equal(await jobs.runNow(job.id), false);
        assert.equal(await jobs.activateDue(10), 0);
        assertEqual(await jobs.claim(claimBy('w2')), []);

        assert.equal((await storedJob(world, job.id)).state, state);
      }
    });
  });
}
