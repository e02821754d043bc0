import assert from 'node:assert/strict';
import { later, MINUTE, SECOND } from '../model/time';
import { aJob, claimBy, succeeded } from './builders';
import { assertEqual } from './expectations';
import {
  applied,
  applyOne,
  claimed,
  claimedJobs,
  detailsOf,
  inParallel,
  stateOf,
  storedJob,
  take,
  takeOne,
} from './steps';
import type { FactSuite } from './world';

/** Guarantee 2: a claim's lease is what brings a crashed worker's job back. */
export function leaseFacts({ describe, fact }: FactSuite): void {
  describe('leases', () => {
    fact('keep a job from others until the last second', async (world) => {
      await claimed(world);

      world.clock.advance(5 * MINUTE - SECOND);

      assertEqual(await world.jobs.claim(claimBy('w2')), []);
    });

    fact('give it to another worker from the instant they expire', async (world) => {
      const job = await claimed(world, {}, 'crashed');

      world.clock.advance(5 * MINUTE);
      const reclaimed = await takeOne(world.jobs, claimBy('survivor'));

      assert.equal(reclaimed.id, job.id);
      const stored = await storedJob(world, job.id);
      assert.equal(stored.workerId, 'survivor');
      assertEqual(stored.leaseUntil, later(world.clock.now(), 5 * MINUTE));
    });

    fact(
      'count a takeover as an attempt and an interruption, and neither as a failure nor as a release',
      async (world) => {
        const job = await claimed(world, {}, 'crashed');
        world.clock.advance(5 * MINUTE + SECOND);

        const { attempt, interruptions, failures, releases } = await takeOne(world.jobs, claimBy('survivor'));

        const expected = { attempt: 2, interruptions: 1, failures: 0, releases: 0 };
        assertEqual({ attempt, interruptions, failures, releases }, expected);
        const stored = await storedJob(world, job.id);
        assertEqual(
          {
            attempt: stored.attempt,
            interruptions: stored.interruptions,
            failures: stored.failures,
            releases: stored.releases,
          },
          expected,
        );
      },
    );

    fact('keep the place in the queue of a job that is taken over', async (world) => {
      const { jobs, clock } = world;
      const old = await claimed(world);
      clock.advance(MINUTE);
      await jobs.enqueue([aJob(clock)]);
      clock.advance(5 * MINUTE);

      const claims = await take(jobs, claimBy('w2'));

      assert.equal(claims[0]?.id, old.id);
      assertEqual(claims[0]?.readyAt, old.readyAt);
    });

    fact('let a worker take over a job of its own', async (world) => {
      await claimed(world, {}, 'w1');
      world.clock.advance(6 * MINUTE);

      const again = await takeOne(world.jobs, claimBy('w1'));

      assert.equal(again.attempt, 2);
    });

    fact('hold again when the clock is set back', async (world) => {
      const { jobs, clock } = world;
      await claimedJobs(world, 2);
      clock.advance(6 * MINUTE);
      await takeOne(jobs, claimBy('w2', { limit: 1 }));

      clock.advance(-6 * MINUTE);

      assertEqual(await jobs.claim(claimBy('w3')), []);
    });

    fact('are not taken over by a claim that does not ask for expired ones', async (world) => {
      const { jobs, clock } = world;
      const expired = await claimed(world);
      clock.advance(6 * MINUTE);
      const fresh = aJob(clock);
      await jobs.enqueue([fresh]);

      const claims = await jobs.claim(claimBy('w2', { expired: false }));

      assertEqual(
        claims.map(({ id }) => id),
        [fresh.id],
      );
      assert.equal((await storedJob(world, expired.id)).workerId, 'w1');
    });

    fact('are taken over in the queues that were asked for only', async (world) => {
      await claimed(world, { queue: 'mail' });
      world.clock.advance(6 * MINUTE);

      assertEqual(await world.jobs.claim(claimBy('w2', { queues: ['reports'] })), []);
    });

    fact('are taken over by one of eight workers, which leaves one trace', async (world) => {
      const { jobs, clock } = world;
      const nodes = await world.nodes();
      const job = await claimed(world, {}, 'crashed');
      clock.advance(6 * MINUTE);

      const claims = await inParallel(8, (n) => nodes[n % 2 === 0 ? 0 : 1].jobs.claim(claimBy(`w${n}`)));

      assert.equal(claims.flat().length, 1);
      assertEqual(await jobs.claim(claimBy('late')), []);
      const { attempt, interruptions, attempts } = await detailsOf(world, job.id);
      assertEqual([attempt, interruptions, attempts.length], [2, 1, 1]);
    });

    fact('fence a worker that comes back after its job was taken over', async (world) => {
      const { jobs, clock } = world;
      const zombie = await claimed(world, {}, 'w1');
      clock.advance(6 * MINUTE);
      const survivor = await takeOne(jobs, claimBy('w2'));

      assertEqual(await applyOne(jobs, succeeded(zombie)), { outcome: 'fenced' });

      assert.equal(await stateOf(world, survivor), 'Processing');
      await applied(jobs, succeeded(survivor));
      assert.equal(await stateOf(world, survivor), 'Succeeded');
    });

    fact('that expired do not fence a worker whose job nobody took over', async (world) => {
      const job = await claimed(world);
      world.clock.advance(60 * MINUTE);

      await applied(world.jobs, succeeded(job));

      assert.equal(await stateOf(world, job), 'Succeeded');
    });
  });
}
