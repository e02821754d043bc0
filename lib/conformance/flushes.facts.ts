import assert from 'node:assert/strict';
import type { TransitionResult } from '../model/job-transition';
import { later, MINUTE } from '../model/time';
import { aContinuation, aJob, anId, claimBy, dead, failed, released, someJobs, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, applyOne, claimedJobs, stateOf, statesOf, storedJob, take } from './steps';
import type { FactSuite } from './world';

const outcomesOf = (results: readonly TransitionResult[]): string[] => results.map(({ outcome }) => outcome);

/** What many transitions in one call have in common: a commit, and nothing else. */
export function flushFacts({ describe, fact }: FactSuite): void {
  describe('many transitions in one call', () => {
    fact('are answered by position', async (world) => {
      const { jobs, clock } = world;
      const [a, b, c, d] = await claimedJobs(world, 4);

      const results = await jobs.apply([
        succeeded(a),
        succeeded({ ...b, workerId: 'somebody-else' }),
        failed(c, later(clock.now(), MINUTE)),
        succeeded(d, { enqueue: [aContinuation(clock, anId(clock))] }),
      ]);

      assertEqual(outcomesOf(results), ['applied', 'fenced', 'applied', 'rejected']);
      assertEqual(await statesOf(world, [a.id, b.id, c.id, d.id]), ['Succeeded', 'Processing', 'Failed', 'Processing']);
    });

    fact('are none when the list is empty', async ({ jobs }) => {
      assertEqual(await jobs.apply([]), []);
    });

    fact('do not fall with one of them that is rejected, wherever it stands', async (world) => {
      const { jobs, clock } = world;
      for (const at of [0, 3, 6]) {
        const seven = await claimedJobs(world, 7);
        const followUps = seven.map(() => aJob(clock, { queue: 'next' }));
        const transitions = seven.map((job, n) =>
          succeeded(job, {
            enqueue: [...followUps.slice(n, n + 1), ...(n === at ? [aContinuation(clock, anId(clock))] : [])],
          }),
        );

        const results = await jobs.apply(transitions);

        const others = seven.map((_, n) => n !== at);
        assertEqual(
          outcomesOf(results),
          others.map((other) => (other ? 'applied' : 'rejected')),
        );
        assertEqual(
          await statesOf(
            world,
            seven.map(({ id }) => id),
          ),
          others.map((other) => (other ? 'Succeeded' : 'Processing')),
        );
        assertEqual(
          await statesOf(
            world,
            followUps.map(({ id }) => id),
          ),
          others.map((other) => (other ? 'Enqueued' : null)),
        );
      }
    });

    fact('do not fall with several that are rejected for several reasons', async (world) => {
      const { jobs, clock } = world;
      const [a, b, c, d, e] = await claimedJobs(world, 5);
      const stored = aJob(clock, { queue: 'other' });
      await jobs.enqueue([stored]);

      const results = await jobs.apply([
        succeeded(a, { enqueue: [stored] }),
        succeeded(b),
        succeeded(c, { enqueue: [aJob(clock, { state: 'Dead' })] }),
        succeeded(d, { enqueue: [aContinuation(clock, anId(clock))] }),
        dead(e),
      ]);

      assertEqual(outcomesOf(results), ['rejected', 'applied', 'rejected', 'rejected', 'applied']);
    });

    fact('of one job end with the first', async (world) => {
      const { jobs, clock } = world;
      const [job] = await claimedJobs(world, 1);
      const [first, second] = [aJob(clock), aJob(clock)];

      const results = await jobs.apply([succeeded(job, { enqueue: [first] }), dead(job, { enqueue: [second] })]);

      assertEqual(outcomesOf(results), ['applied', 'fenced']);
      assertEqual(await statesOf(world, [job.id, first.id, second.id]), ['Succeeded', 'Enqueued', null]);
    });

    fact('of one job end with the first, though the second be the same once more', async (world) => {
      const { jobs, clock } = world;
      const [job] = await claimedJobs(world, 1);
      const transition = dead(job, { enqueue: [aJob(clock)] });

      const results = await jobs.apply([transition, { ...transition }]);

      assertEqual(outcomesOf(results), ['applied', 'fenced']);
      assert.equal((await jobs.claim(claimBy('w2'))).length, 1);
    });

    fact('of one job end with the first of them that is not fenced', async (world) => {
      const [job] = await claimedJobs(world, 1);

      const results = await world.jobs.apply([succeeded({ ...job, attempt: 7 }), released(job)]);

      assertEqual(outcomesOf(results), ['fenced', 'applied']);
      assert.equal(await stateOf(world, job), 'Enqueued');
    });

    fact('each bring jobs of their own', async (world) => {
      const { jobs, clock } = world;
      const many = await claimedJobs(world, 200);
      const followUps = many.map(() => aJob(clock, { queue: 'next' }));

      await applied(jobs, ...many.map((job, n) => succeeded(job, { enqueue: followUps.slice(n, n + 1) })));

      const claims = await jobs.claim(claimBy('w2', { queues: ['next'], limit: 500 }));
      assertEqual(
        claims.map(({ id }) => id),
        followUps.map(({ id }) => id),
      );
    });

    fact('that bring jobs of one key store the first', async (world) => {
      const { jobs, clock } = world;
      const [a, b] = await claimedJobs(world, 2);
      const [first, second] = [aJob(clock, { idempotencyKey: 'K' }), aJob(clock, { idempotencyKey: 'K' })];

      await applied(jobs, succeeded(a, { enqueue: [first] }), succeeded(b, { enqueue: [second] }));

      assertEqual(await statesOf(world, [first.id, second.id]), ['Enqueued', null]);
    });

    fact('strand no continuation that one brings and another decides', async (world) => {
      const { jobs, clock } = world;
      for (const order of ['parent first', 'child first']) {
        const [parent, other] = await claimedJobs(world, 2);
        const child = aContinuation(clock, parent.id, { queue: 'next' });
        const [ends, brings] = [succeeded(parent), succeeded(other, { enqueue: [child] })];

        await applied(jobs, ...(order === 'parent first' ? [ends, brings] : [brings, ends]));

        assert.equal(await stateOf(world, child), 'Enqueued', order);
      }
    });

    fact('may come from several workers', async (world) => {
      const { jobs, clock } = world;
      await jobs.enqueue(someJobs(2, clock));
      const [mine] = await take(jobs, claimBy('w1', { limit: 1 }));
      const [theirs] = await take(jobs, claimBy('w2', { limit: 1 }));
      assert.ok(mine && theirs);

      await applied(jobs, succeeded(mine), succeeded(theirs));

      assertEqual(await statesOf(world, [mine.id, theirs.id]), ['Succeeded', 'Succeeded']);
    });

    fact('keep errors and due times apart', async (world) => {
      const { jobs, clock } = world;
      const [a, b] = await claimedJobs(world, 2);
      const [soon, late] = [later(clock.now(), MINUTE), later(clock.now(), 9 * MINUTE)];

      await applied(jobs, failed(a, soon, { error: 'first' }), failed(b, late, { error: 'second', failures: 5 }));

      const [storedA, storedB] = [await storedJob(world, a.id), await storedJob(world, b.id)];
      assertEqual([storedA.lastError, storedA.dueAt, storedA.failures], ['first', soon, 1]);
      assertEqual([storedB.lastError, storedB.dueAt, storedB.failures], ['second', late, 5]);
    });

    fact('sent again as a whole after a lost answer write nothing twice', async (world) => {
      const { jobs, clock } = world;
      const three = await claimedJobs(world, 3);
      const transitions = three.map((job) => succeeded(job, { enqueue: [aJob(clock, { queue: 'next' })] }));
      await applied(jobs, ...transitions);

      const again = await jobs.apply(transitions);

      assert.ok(again.every(({ outcome }) => outcome === 'applied' || outcome === 'fenced'));
      assert.equal((await jobs.claim(claimBy('w2', { queues: ['next'] }))).length, 3);
      assert.equal((await applyOne(jobs, released(three[0]))).outcome, 'fenced');
    });
  });
}
