import assert from 'node:assert/strict';
import { ATTEMPTS_KEPT } from '../model/job-attempt';
import { Retry } from '../model/retry';
import { later, MINUTE, SECOND } from '../model/time';
import { aContinuation, anId, claimBy, dead, failed, putBack, released, stopped, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, applyOne, claimed, detailsOf, takeOne } from './steps';
import type { FactSuite } from './world';

/** What went wrong with a job is remembered, one row an attempt, and not for ever. */
export function attemptFacts({ describe, fact }: FactSuite): void {
  describe('the history of attempts', () => {
    fact('is empty for a job that succeeded at once', async (world) => {
      const job = await claimed(world);
      await applied(world.jobs, succeeded(job));

      assertEqual((await detailsOf(world, job.id)).attempts, []);
    });

    fact('is empty for a job that was cancelled', async (world) => {
      const job = await claimed(world);
      await applied(world.jobs, stopped(job));

      assertEqual((await detailsOf(world, job.id)).attempts, []);
    });

    fact('tells which attempt failed, when, where and why', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(MINUTE);

      await applied(jobs, failed(job, later(clock.now(), MINUTE), { error: 'boom' }));

      assertEqual((await detailsOf(world, job.id)).attempts, [
        { attempt: 1, outcome: 'Failed', recordedAt: clock.now(), workerId: 'w1', error: 'boom' },
      ]);
    });

    fact('tells of the failure that a job died of', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);

      await applied(jobs, dead(job, { error: 'no such customer' }));

      assertEqual((await detailsOf(world, job.id)).attempts, [
        { attempt: 1, outcome: 'Failed', recordedAt: clock.now(), workerId: 'w1', error: 'no such customer' },
      ]);
    });

    fact('tells nothing of a job that died without being run', async (world) => {
      const job = await claimed(world);

      await applied(world.jobs, dead(job, { failures: 0, history: null, error: 'poisoned' }));

      const { state, failures, lastError, attempts } = await detailsOf(world, job.id);
      assertEqual([state, failures, lastError, attempts], ['Dead', 0, 'poisoned', []]);
    });

    fact('tells of an execution that vanished, and who had it', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world, {}, 'crashed');
      clock.advance(10 * MINUTE);

      await takeOne(jobs, claimBy('survivor'));

      const { attempts, failures, interruptions } = await detailsOf(world, job.id);
      assertEqual(attempts, [
        { attempt: 1, outcome: 'Interrupted', recordedAt: clock.now(), workerId: 'crashed', error: null },
      ]);
      assertEqual([failures, interruptions], [0, 1]);
    });

    fact('counts every execution that vanished', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      for (const worker of ['w2', 'w3']) {
        clock.advance(6 * MINUTE);
        await takeOne(jobs, claimBy(worker));
      }

      const { attempt, failures, interruptions, attempts } = await detailsOf(world, job.id);

      assertEqual([attempt, failures, interruptions], [3, 0, 2]);
      assertEqual(
        attempts.map(({ attempt: n, workerId }) => [n, workerId]),
        [
          [2, 'w2'],
          [1, 'w1'],
        ],
      );
    });

    fact('tells of a release of a job that had started, which is no interruption', async (world) => {
      const job = await claimed(world);

      await applied(world.jobs, released(job));

      const { attempts, interruptions, releases } = await detailsOf(world, job.id);
      assertEqual(attempts, [
        { attempt: 1, outcome: 'Interrupted', recordedAt: world.clock.now(), workerId: 'w1', error: null },
      ]);
      assertEqual([interruptions, releases], [0, 1]);
    });

    fact('tells nothing of a release of a job that had not, nor of a put-back', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await applied(jobs, released(job, { history: null }));
      await applied(jobs, putBack(await takeOne(jobs, claimBy('w1')), clock.now()));

      const { attempts, releases } = await detailsOf(world, job.id);

      assertEqual([attempts, releases], [[], 2]);
    });

    fact('comes newest first, and keeps the newest alone', async (world) => {
      const { jobs, clock } = world;
      let job = await claimed(world, { retry: Retry.fixed(0, 100) });
      for (let n = 1; n <= 15; n++) {
        await applied(jobs, failed(job, clock.now(), { error: `boom ${n}` }));
        clock.advance(SECOND);
        await jobs.activateDue(10);
        job = await takeOne(jobs, claimBy('w1'));
      }

      const { attempts, failures } = await detailsOf(world, job.id);

      assert.equal(failures, 15);
      assert.ok(attempts.length <= ATTEMPTS_KEPT, `${attempts.length} rows kept`);
      assert.equal(attempts[0]?.error, 'boom 15');
      const numbers = attempts.map(({ attempt }) => attempt);
      assertEqual(
        numbers,
        numbers.toSorted((a, b) => b - a),
      );
    });

    fact('keeps the newest alone when a job vanishes again and again', async (world) => {
      const { jobs, clock } = world;
      const { id } = await claimed(world);
      for (let n = 0; n < 14; n++) {
        clock.advance(6 * MINUTE);
        await takeOne(jobs, claimBy(`w${n}`));
      }

      const { attempts, attempt, interruptions } = await detailsOf(world, id);

      assertEqual([attempt, interruptions], [15, 14]);
      assert.ok(attempts.length <= ATTEMPTS_KEPT, `${attempts.length} rows kept`);
      assert.equal(attempts[0]?.attempt, 14);
    });

    fact('goes with a transition that is rejected', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);

      await applyOne(jobs, failed(job, clock.now(), { enqueue: [aContinuation(clock, anId(clock))] }));

      assertEqual((await detailsOf(world, job.id)).attempts, []);
    });
  });
}
