import assert from 'node:assert/strict';
import { later, MINUTE, SECOND } from '../model/time';
import { aContinuation, aJob, anId, claimBy, dead, failed, putBack, released, stopped, succeeded } from './builders';
import { assertEqual, codeOf } from './expectations';
import {
  applied,
  applyOne,
  claimed,
  detailsOf,
  inParallel,
  settle,
  started,
  stateOf,
  statesOf,
  storedJob,
  takeOne,
} from './steps';
import { aStep } from './workflow-builders';
import type { FactSuite } from './world';

/** Guarantee 3: a transition is all or nothing. */
export function transitionFacts({ describe, fact }: FactSuite): void {
  describe('transitions', () => {
    fact('to Succeeded end the job now and clear its claim', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(MINUTE);

      await applied(jobs, succeeded(job));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.finishedAt, stored.workerId, stored.leaseUntil, stored.failures],
        ['Succeeded', clock.now(), null, null, 0],
      );
    });

    fact('to Dead end it now, with the error and the count of failures', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(MINUTE);

      await applied(jobs, dead(job, { error: 'no such customer' }));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.finishedAt, stored.workerId, stored.leaseUntil, stored.failures, stored.lastError],
        ['Dead', clock.now(), null, null, 1, 'no such customer'],
      );
    });

    fact('to Cancelled end it now, without a failure', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(MINUTE);

      await applied(jobs, stopped(job, { error: 'cancelled on request' }));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.finishedAt, stored.workerId, stored.leaseUntil, stored.failures, stored.lastError],
        ['Cancelled', clock.now(), null, null, 0, 'cancelled on request'],
      );
    });

    fact('to Failed make it wait until its due time, not finished', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const dueAt = later(clock.now(), 30 * SECOND);

      await applied(jobs, failed(job, dueAt));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.dueAt, stored.failures, stored.lastError, stored.attempt],
        ['Failed', dueAt, 1, 'boom', 1],
      );
      assertEqual([stored.finishedAt, stored.workerId, stored.leaseUntil], [null, null, null]);
    });

    fact('that give a job back make it claimable at once, and count as a release alone', async (world) => {
      const { jobs } = world;
      const job = await claimed(world);

      await applied(jobs, released(job));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.workerId, stored.leaseUntil, stored.dueAt, stored.finishedAt],
        ['Enqueued', null, null, null, null],
      );
      assertEqual([stored.releases, stored.interruptions, stored.failures], [1, 0, 0]);
      assert.equal((await takeOne(jobs, claimBy('w2'))).attempt, 2);
      assertEqual(await applyOne(jobs, succeeded(job)), { outcome: 'fenced' });
    });

    fact('that give a job back keep its place in the queue', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      clock.advance(MINUTE);
      await jobs.enqueue([aJob(clock)]);

      await applied(jobs, released(job));

      assertEqual((await storedJob(world, job.id)).readyAt, job.readyAt);
      assert.equal((await takeOne(jobs, claimBy('w2', { limit: 1 }))).id, job.id);
    });

    fact('that put a job back until a time say why, and count as a release alone', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const dueAt = later(clock.now(), 10 * SECOND);

      await applied(jobs, putBack(job, dueAt, { error: 'no handler EmailSender.send here' }));

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.state, stored.dueAt, stored.lastError, stored.workerId, stored.leaseUntil],
        ['Scheduled', dueAt, 'no handler EmailSender.send here', null, null],
      );
      assertEqual([stored.releases, stored.interruptions, stored.failures], [1, 0, 0]);
    });

    fact('that put a job back let it run when its time has come', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await applied(jobs, putBack(job, later(clock.now(), 10 * SECOND)));
      assert.equal(await jobs.activateDue(10), 0);

      clock.advance(10 * SECOND);
      assert.equal(await jobs.activateDue(10), 1);

      const again = await takeOne(jobs, claimBy('w2'));
      assertEqual([again.id, again.attempt, again.releases, again.failures], [job.id, 2, 1, 0]);
    });

    fact('to Failed overwrite the last error, even with none', async (world) => {
      const { jobs, clock } = world;
      const first = await claimed(world);
      await applied(jobs, failed(first, clock.now(), { error: 'first' }));
      await jobs.activateDue(1);
      const second = await takeOne(jobs, claimBy('w1'));

      await applied(jobs, failed(second, clock.now(), { error: null }));

      assert.equal((await storedJob(world, first.id)).lastError, null);
    });

    fact('without an error keep the last one', async (world) => {
      const { jobs, clock } = world;
      for (const end of [succeeded, stopped, released]) {
        const first = await claimed(world);
        await applied(jobs, failed(first, clock.now(), { error: 'first' }));
        await jobs.activateDue(1);
        const second = await takeOne(jobs, claimBy('w1'));

        await applied(jobs, end(second));

        assert.equal((await storedJob(world, first.id)).lastError, 'first');
        await jobs.cancel(first.id);
      }
    });

    fact('store the jobs that they bring', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const followUps = [aJob(clock), aJob(clock, { queue: 'mail' })];

      await applied(jobs, succeeded(job, { enqueue: followUps }));

      assertEqual(await statesOf(world, [job.id, ...followUps.map(({ id }) => id)]), [
        'Succeeded',
        'Enqueued',
        'Enqueued',
      ]);
    });

    fact('are rejected whole when one of those continues an unknown parent', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const [good, orphan] = [aJob(clock), aContinuation(clock, anId(clock))];

      const result = await applyOne(jobs, dead(job, { enqueue: [good, orphan] }));

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_PARENT_JOB_NOT_FOUND');
      assertEqual(await statesOf(world, [job.id, good.id, orphan.id]), ['Processing', null, null]);
      const { failures, attempts } = await detailsOf(world, job.id);
      assertEqual([failures, attempts], [0, []]);
    });

    fact('are rejected whole when one of those continues a step of a workflow', async (world) => {
      const { jobs, clock } = world;
      const step = aStep(clock, await started(world), { queue: 'steps' });
      await jobs.enqueue([step]);
      const job = await claimed(world);
      const child = aContinuation(clock, step.id);

      const result = await applyOne(jobs, succeeded(job, { enqueue: [child] }));

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_WORKFLOW_JOB_PARENT');
      assertEqual(await statesOf(world, [job.id, child.id]), ['Processing', null]);
    });

    fact('are rejected whole when one of those is stored already', async (world) => {
      const { jobs, clock } = world;
      const stored = aJob(clock, { queue: 'other' });
      await jobs.enqueue([stored]);
      const job = await claimed(world);
      const good = aJob(clock);

      const result = await applyOne(jobs, succeeded(job, { enqueue: [good, stored] }));

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_DUPLICATE_JOB');
      assertEqual(await statesOf(world, [job.id, good.id]), ['Processing', null]);
    });

    fact('are rejected whole when one of those would start in a state only a transition leads to', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const [good, bad] = [aJob(clock), aJob(clock, { state: 'Succeeded' })];

      const result = await applyOne(jobs, succeeded(job, { enqueue: [good, bad] }));

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_INVALID_JOB_RECORD');
      assertEqual(await statesOf(world, [job.id, good.id, bad.id]), ['Processing', null, null]);
    });

    fact('can be sent anew, without what made them rejected', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await applyOne(jobs, succeeded(job, { enqueue: [aContinuation(clock, anId(clock))] }));

      await applied(jobs, dead(job, { error: 'its follow-up could not be stored' }));

      assert.equal(await stateOf(world, job), 'Dead');
    });

    fact('sent twice write once', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const followUp = aJob(clock);
      const transition = dead(job, { enqueue: [followUp] });

      await applied(jobs, transition);
      const again = await applyOne(jobs, transition);

      assert.ok(['applied', 'fenced'].includes(again.outcome), `${again.outcome} instead of applied or fenced`);
      const { failures, attempts, state } = await detailsOf(world, job.id);
      assertEqual([state, failures, attempts.length], ['Dead', 1, 1]);
      assert.equal((await jobs.claim(claimBy('w2'))).length, 1);
    });

    fact('sent eight times at once write once', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      const job = await claimed(world);
      const transition = failed(job, later(clock.now(), MINUTE));

      const results = await inParallel(8, (n) => settle(nodes[n % 2 === 0 ? 0 : 1].jobs, transition));

      assert.ok(results.some(({ outcome }) => outcome === 'applied'));
      assert.ok(results.every(({ outcome }) => outcome === 'applied' || outcome === 'fenced'));
      const { failures, attempts } = await detailsOf(world, job.id);
      assertEqual([failures, attempts.length], [1, 1]);
    });
  });
}
