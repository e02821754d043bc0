import assert from 'node:assert/strict';
import { JOB_STATES } from '../model/job-state';
import { Retry } from '../model/retry';
import { later, MINUTE, SECOND } from '../model/time';
import { aContinuation, aJob, anId, aScheduledJob, claimBy, dead, someJobs, succeeded } from './builders';
import { assertEqual, assertSameJob, rejectsWith } from './expectations';
import { applied, claimed, started, stateOf, statesOf, storedJob } from './steps';
import { aStep } from './workflow-builders';
import type { FactSuite } from './world';

const EVERY_REFUSED_STATE = JOB_STATES.filter((state) => !['Scheduled', 'Enqueued', 'Awaiting'].includes(state));

/** Jobs are stored all or none, as they were given. */
export function enqueueFacts({ describe, fact }: FactSuite): void {
  describe('enqueueing', () => {
    fact('gives a job back with every field as it was stored', async ({ jobs, clock }) => {
      const parent = aJob(clock);
      const job = aScheduledJob(clock, later(clock.now(), 10 * MINUTE), {
        queue: 'mail',
        priority: 7,
        handler: 'EmailSender.sendConfirmation',
        args: '[42,{"lines":[1.5,"x",null,true]}]',
        argTypes: '{"0":"bigint"}',
        retry: Retry.exponential(4, 3 * SECOND, 2 * MINUTE),
        idempotencyKey: 'order-1',
        tenantId: 'acme',
        parentId: parent.id,
        requeuedFrom: anId(clock),
        traceParent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        recurringId: 'nightly-report',
        occurrenceAt: later(clock.now(), -SECOND),
        timeout: 90 * SECOND,
        instanceId: anId(clock),
        position: '{"node":"a3","path":[["each1",3],["par1",0]]}',
        scope: 'each1.3/par1.0/',
      });
      await jobs.enqueue([parent]);

      await jobs.enqueue([job]);

      assertSameJob(await jobs.getJob(job.id), job);
    });

    fact('keeps a copy, and hands out copies', async ({ jobs, clock }) => {
      const dueAt = later(clock.now(), MINUTE);
      const job = aScheduledJob(clock, dueAt);
      await jobs.enqueue([job]);
      const stored = await storedJob({ jobs }, job.id);

      dueAt.setUTCFullYear(1999);
      stored.dueAt?.setUTCFullYear(2001);
      Object.assign(stored, { queue: 'changed' });

      const { dueAt: kept, queue } = await storedJob({ jobs }, job.id);
      assertEqual([kept, queue], [later(clock.now(), MINUTE), 'default']);
    });

    fact('starts a job with no attempt, failure, release or interruption', async ({ jobs, clock }) => {
      const job = aJob(clock);

      await jobs.enqueue([job]);

      const { attempt, failures, releases, interruptions, cancelRequested, closing } = await storedJob(
        { jobs },
        job.id,
      );
      assertEqual([attempt, failures, releases, interruptions], [0, 0, 0, 0]);
      assertEqual([cancelRequested, closing], [false, false]);
    });

    fact('knows no job that was never stored', async ({ jobs, clock }) => {
      assert.equal(await jobs.getJob(anId(clock)), null);
    });

    fact('answers the ids by position, the holder of a key in the place of its duplicate', async ({ jobs, clock }) => {
      const holder = aJob(clock, { idempotencyKey: 'K' });
      await jobs.enqueue([holder]);
      const [first, duplicate, last] = [aJob(clock), aJob(clock, { idempotencyKey: 'K' }), aJob(clock)];

      const ids = await jobs.enqueue([first, duplicate, last]);

      assertEqual(ids, [first.id, holder.id, last.id]);
      assertEqual(await statesOf({ jobs }, [first.id, duplicate.id, last.id]), ['Enqueued', null, 'Enqueued']);
    });

    fact('answers the first of two jobs with one key in one call for both', async ({ jobs, clock }) => {
      const [first, second] = [aJob(clock, { idempotencyKey: 'K' }), aJob(clock, { idempotencyKey: 'K' })];

      const ids = await jobs.enqueue([first, second]);

      assertEqual(ids, [first.id, first.id]);
      assert.equal(await stateOf({ jobs }, second), null);
    });

    fact('stores a thousand jobs in one call', async ({ jobs, clock }) => {
      const thousand = someJobs(1000, clock);

      const ids = await jobs.enqueue(thousand);

      assertEqual(
        ids,
        thousand.map(({ id }) => id),
      );
      assert.equal((await jobs.claim(claimBy('w1', { limit: 2000 }))).length, 1000);
    });

    fact('stores nothing for an empty list', async ({ jobs }) => {
      assertEqual(await jobs.enqueue([]), []);
      assertEqual(await jobs.claim(claimBy('w1')), []);
    });

    fact('refuses an id that comes twice in one call, and stores none of it', async ({ jobs, clock }) => {
      const [good, twice] = [aJob(clock), aJob(clock)];

      await rejectsWith('MILLRACE_DUPLICATE_JOB', jobs.enqueue([good, twice, { ...twice, args: '[1]' }]));

      assertEqual(await statesOf({ jobs }, [good.id, twice.id]), [null, null]);
    });

    fact('refuses such an id even where the first of the two came too late for its key', async ({ jobs, clock }) => {
      await jobs.enqueue([aJob(clock, { idempotencyKey: 'K' })]);
      const twice = aJob(clock, { idempotencyKey: 'K' });

      await rejectsWith('MILLRACE_DUPLICATE_JOB', jobs.enqueue([twice, { ...twice, idempotencyKey: null }]));

      assert.equal(await stateOf({ jobs }, twice), null);
    });

    fact('refuses an id that is stored already, and stores none of the call', async ({ jobs, clock }) => {
      const [good, stored] = [aJob(clock), aJob(clock)];
      await jobs.enqueue([stored]);

      await rejectsWith('MILLRACE_DUPLICATE_JOB', jobs.enqueue([good, { ...stored, queue: 'mail' }]));

      assert.equal(await stateOf({ jobs }, good), null);
      assert.equal((await storedJob({ jobs }, stored.id)).queue, 'default');
    });

    fact('refuses a job that would start in a state only a transition leads to', async ({ jobs, clock }) => {
      for (const state of EVERY_REFUSED_STATE) {
        const [good, bad] = [aJob(clock), aJob(clock, { state })];

        await rejectsWith('MILLRACE_INVALID_JOB_RECORD', jobs.enqueue([good, bad]));

        assertEqual(await statesOf({ jobs }, [good.id, bad.id]), [null, null], `a job stored as ${state}`);
      }
    });

    fact('refuses an Awaiting job that names no parent', async ({ jobs, clock }) => {
      const [good, bad] = [aJob(clock), aJob(clock, { state: 'Awaiting' })];

      await rejectsWith('MILLRACE_INVALID_JOB_RECORD', jobs.enqueue([good, bad]));

      assertEqual(await statesOf({ jobs }, [good.id, bad.id]), [null, null]);
    });
  });

  describe('batches with continuations', () => {
    fact('lets a job continue an earlier one of its call', async (world) => {
      const { jobs, clock } = world;
      const parent = aJob(clock);
      const child = aContinuation(clock, parent.id);
      const grandchild = aContinuation(clock, child.id);

      await jobs.enqueue([parent, child, grandchild]);

      assertEqual(await statesOf(world, [child.id, grandchild.id]), ['Awaiting', 'Awaiting']);
    });

    fact('lets it continue the holder of the key that the earlier one came too late for', async (world) => {
      const { jobs, clock } = world;
      const holder = await claimed(world, { idempotencyKey: 'K' });
      const duplicate = aJob(clock, { idempotencyKey: 'K' });
      const child = aContinuation(clock, duplicate.id);

      const ids = await jobs.enqueue([duplicate, child]);

      assertEqual(ids, [holder.id, child.id]);
      assert.equal((await storedJob(world, child.id)).parentId, holder.id);
      await applied(jobs, succeeded(holder));
      assert.equal(await stateOf(world, child), 'Enqueued');
    });

    fact('cancels such a job with the holder', async (world) => {
      const { jobs, clock } = world;
      const holder = await claimed(world, { idempotencyKey: 'K' });
      const duplicate = aJob(clock, { idempotencyKey: 'K' });
      const child = aContinuation(clock, duplicate.id);
      await jobs.enqueue([duplicate, child]);

      await applied(jobs, dead(holder));

      assert.equal(await stateOf(world, child), 'Cancelled');
    });

    fact('refuses a job that continues a later one of its call', async ({ jobs, clock }) => {
      const parent = aJob(clock);
      const child = aContinuation(clock, parent.id);

      await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([child, parent]));

      assertEqual(await statesOf({ jobs }, [parent.id, child.id]), [null, null]);
    });

    fact('refuses a job that continues a step of a workflow, with all of its call', async (world) => {
      const { jobs, clock } = world;
      const step = aStep(clock, await started(world));
      await jobs.enqueue([step]);
      const [good, child] = [aJob(clock), aContinuation(clock, step.id)];

      await rejectsWith('MILLRACE_WORKFLOW_JOB_PARENT', jobs.enqueue([good, child]));

      assertEqual(await statesOf(world, [good.id, child.id]), [null, null]);
    });
  });
}
