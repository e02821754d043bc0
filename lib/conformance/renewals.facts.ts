import assert from 'node:assert/strict';
import { later, MINUTE } from '../model/time';
import { aJob, anId, claimBy, someJobs, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, claimed, inRounds, settle, storedJob, take, takeOne } from './steps';
import type { FactSuite } from './world';

const LEASE = 5 * MINUTE;

/** A heartbeat keeps what runs, and tells what has been lost or asked to stop. */
export function renewalFacts({ describe, fact }: FactSuite): void {
  describe('renewals', () => {
    fact('extend a lease from now', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(4 * MINUTE);

      const renewal = await jobs.renew('w1', [job], LEASE);

      assertEqual(renewal, { answers: ['renewed'], unlisted: [] });
      assertEqual((await storedJob(world, job.id)).leaseUntil, later(clock.now(), LEASE));
      clock.advance(2 * MINUTE);
      assertEqual(await jobs.claim(claimBy('w2')), []);
    });

    fact('bring back a lease that lapsed while nobody took the job over', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(LEASE + MINUTE);

      const { answers } = await jobs.renew('w1', [job], LEASE);

      assertEqual(answers, ['renewed']);
      assertEqual(await jobs.claim(claimBy('w2')), []);
    });

    fact('leave a lapsed lease to exactly one of its worker and a claim that comes at once', async (world) => {
      const { clock } = world;
      const [one, other] = await world.nodes();
      await inRounds(10, async (round) => {
        const queue = `round-${round}`;
        const mine = await claimed(world, { queue });
        clock.advance(LEASE + MINUTE);

        const [renewal, claims] = await Promise.all([
          one.jobs.renew('w1', [mine], LEASE),
          take(other.jobs, claimBy('w2', { queues: [queue] })),
        ]);

        const [theirs] = claims;
        const stored = await storedJob(world, mine.id);
        if (theirs) {
          assert.equal(stored.workerId, 'w2');
          // The answer may have been "renewed" while the claim held the row: the next one tells.
          assertEqual((await one.jobs.renew('w1', [mine], LEASE)).answers, ['lost']);
          assert.equal((await settle(one.jobs, succeeded(mine))).outcome, 'fenced');
        } else {
          assert.equal(stored.workerId, 'w1');
          assertEqual(renewal.answers, ['renewed']);
        }
        assert.equal((await settle(one.jobs, succeeded(theirs ?? mine))).outcome, 'applied');
      });
    });

    fact('answer lost for a job that another worker took over', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(LEASE + MINUTE);
      await takeOne(jobs, claimBy('w2'));

      const renewal = await jobs.renew('w1', [job], LEASE);

      assertEqual(renewal, { answers: ['lost'], unlisted: [] });
      assert.equal((await storedJob(world, job.id)).workerId, 'w2');
    });

    fact('answer lost for an earlier attempt at a job that the same worker took over', async (world) => {
      const { jobs, clock } = world;
      const first = await claimed(world);
      clock.advance(LEASE + MINUTE);
      const second = await takeOne(jobs, claimBy('w1'));

      const { answers } = await jobs.renew('w1', [first, second], LEASE);

      assertEqual(answers, ['lost', 'renewed']);
    });

    fact('answer lost for a job that has ended, and for one that never was', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await applied(jobs, succeeded(job));

      const { answers } = await jobs.renew('w1', [job, { id: anId(clock), attempt: 1 }], LEASE);

      assertEqual(answers, ['lost', 'lost']);
      assert.equal((await storedJob(world, job.id)).leaseUntil, null);
    });

    fact('tell of a request to stop, and extend the lease all the same', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await jobs.cancel(job.id);
      clock.advance(4 * MINUTE);

      const { answers } = await jobs.renew('w1', [job], LEASE);

      assertEqual(answers, ['cancelRequested']);
      clock.advance(2 * MINUTE); // past the first lease
      assertEqual(await jobs.claim(claimBy('w2')), []);
    });

    fact('answer by position', async (world) => {
      const { jobs, clock } = world;
      await jobs.enqueue(someJobs(3, clock));
      const [a, b, c] = await take(jobs, claimBy('w1'));
      assert.ok(a && b && c);
      await jobs.cancel(b.id);
      await applied(jobs, succeeded(a));

      const { answers } = await jobs.renew('w1', [c, a, b], LEASE);

      assertEqual(answers, ['renewed', 'lost', 'cancelRequested']);
    });

    fact('name what the worker owns and did not list, and leave the leases of those alone', async (world) => {
      const { jobs, clock } = world;
      await jobs.enqueue(someJobs(2, clock));
      const [listed, forgotten] = await take(jobs, claimBy('w1'));
      assert.ok(listed && forgotten);
      clock.advance(4 * MINUTE);

      const { answers, unlisted } = await jobs.renew('w1', [listed], LEASE);

      assertEqual(answers, ['renewed']);
      assertEqual(unlisted, [{ id: forgotten.id, attempt: 1 }]);
      clock.advance(2 * MINUTE);
      assertEqual(
        (await jobs.claim(claimBy('w2'))).map(({ id }) => id),
        [forgotten.id],
      );
    });

    fact('name them for an empty list too', async (world) => {
      const job = await claimed(world);

      const renewal = await world.jobs.renew('w1', [], LEASE);

      assertEqual(renewal, { answers: [], unlisted: [{ id: job.id, attempt: 1 }] });
    });

    fact('name neither what others own nor what has ended', async (world) => {
      const { jobs, clock } = world;
      const ended = await claimed(world, {}, 'w1');
      await applied(jobs, succeeded(ended));
      await claimed(world, {}, 'w2');
      await jobs.enqueue([aJob(clock)]);

      assertEqual(await jobs.renew('w1', [], LEASE), { answers: [], unlisted: [] });
    });
  });
}
