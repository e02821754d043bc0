import assert from 'node:assert/strict';
import type { JobRecord } from '../model/job';
import { MINUTE } from '../model/time';
import { aJob, claimBy, released, someJobs } from './builders';
import { assertEqual } from './expectations';
import { applied, aSuspect, claimed, stateOf, storedJob, takeOne } from './steps';
import type { FactSuite } from './world';

/** A job whose execution has vanished twice may be what kills its process: it is kept away from the others. */
export function suspectFacts({ describe, fact }: FactSuite): void {
  describe('suspects', () => {
    fact('are claimed only by a claim that asks for them', async (world) => {
      const suspect = await aSuspect(world);

      assertEqual(await world.jobs.claim(claimBy('w2', { suspects: false })), []);

      assert.equal((await takeOne(world.jobs, claimBy('w2'))).id, suspect.id);
    });

    fact(
      'are not taken over by a claim that does not ask, though the takeover is what would make them suspects',
      async (world) => {
        const { jobs, clock } = world;
        await claimed(world);
        clock.advance(6 * MINUTE);
        await takeOne(jobs, claimBy('w2'));
        clock.advance(6 * MINUTE);

        assertEqual(await jobs.claim(claimBy('w3', { suspects: false })), []);

        const takenOver = await takeOne(jobs, claimBy('w3', { suspects: true }));
        assert.equal(takenOver.interruptions, 2);
      },
    );

    fact('are claimed one at a time, with as many others as there is room for', async (world) => {
      const { jobs, clock } = world;
      const suspects: JobRecord[] = [];
      for (const queue of ['s1', 's2', 's3']) suspects.push(await aSuspect(world, { queue }));
      const healthy = someJobs(2, clock, { queue: 's1' });
      await jobs.enqueue(healthy);
      const request = { queues: ['s1', 's2', 's3'] };

      const claims = [await jobs.claim(claimBy('w2', request))];
      claims.push(await jobs.claim(claimBy('w3', request)), await jobs.claim(claimBy('w4', request)));

      const suspectIds = new Set(suspects.map(({ id }) => id));
      const countPerClaim = claims.map((claim) => claim.filter(({ id }) => suspectIds.has(id)).length);
      assertEqual(countPerClaim, [1, 1, 1]);
      const healthyIds = claims
        .flat()
        .map(({ id }) => id)
        .filter((id) => !suspectIds.has(id));
      assertEqual(healthyIds.toSorted(), healthy.map(({ id }) => id).toSorted());
    });

    fact('that a takeover would make are taken one at a time too', async (world) => {
      const { jobs, clock } = world;
      for (const queue of ['a', 'b', 'c']) {
        await claimed(world, { queue });
        clock.advance(6 * MINUTE);
        await takeOne(jobs, claimBy('w2', { queues: [queue] }));
      }
      clock.advance(6 * MINUTE);

      const claims = await jobs.claim(claimBy('w3', { queues: ['a', 'b', 'c'] }));

      assert.equal(claims.length, 1);
      assert.equal(claims[0]?.interruptions, 2);
    });

    fact('do not stand in the way of jobs behind them', async (world) => {
      const { jobs, clock } = world;
      await aSuspect(world, { priority: 10 });
      const healthy = aJob(clock);
      await jobs.enqueue([healthy]);

      const claims = await jobs.claim(claimBy('w2', { limit: 1, suspects: false }));

      assertEqual(
        claims.map(({ id }) => id),
        [healthy.id],
      );
    });

    fact('are not what a job becomes by being taken over once', async (world) => {
      await claimed(world);
      world.clock.advance(6 * MINUTE);

      const takenOver = await takeOne(world.jobs, claimBy('w2', { suspects: false }));

      assert.equal(takenOver.interruptions, 1);
    });

    fact('are not what releases make of a job', async (world) => {
      const { jobs } = world;
      let job = await claimed(world);
      for (let n = 0; n < 5; n++) {
        await applied(jobs, released(job));
        job = await takeOne(jobs, claimBy('w1', { suspects: false }));
      }

      const stored = await storedJob(world, job.id);

      assertEqual([stored.releases, stored.interruptions, stored.attempt], [5, 0, 6]);
    });

    fact('run like any other job once they are claimed', async (world) => {
      const suspect = await aSuspect(world);
      const job = await takeOne(world.jobs, claimBy('w2'));

      await applied(world.jobs, released(job));

      assert.equal(await stateOf(world, suspect), 'Enqueued');
    });
  });
}
