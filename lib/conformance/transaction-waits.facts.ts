import assert from 'node:assert/strict';
import { MINUTE } from '../model/time';
import type { TransactionHandle } from '../storage/transaction-handle';
import { aContinuation, aJob, claimBy, succeeded } from './builders';
import { joining } from './caller-transaction.facts';
import { assertEqual, rejectsWith } from './expectations';
import { claimed, pause, settle, started, stateOf, statesOf, take } from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, aSignal, changing, setting } from './workflow-builders';

const KEY = { idempotencyKey: 'order-1' } as const;
const IMPATIENT = { lockTimeout: 200 } as const;

const enqueueRefused = ({ jobs, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  jobs.enqueue([aJob(clock, KEY)], handle);
const signalRefused = ({ workflows, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  workflows.signal(aSignal(clock), handle);
const cancelRefused = ({ jobs, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  jobs.cancel(aJob(clock).id, handle);

/** What meets a row that an application's open transaction holds: it waits for the answer, and not for ever. */
export function transactionWaitFacts(suite: FactSuite): void {
  suite.describe('others, while a caller’s transaction is open (or its refusal by a store that joins none)', () => {
    joining(
      suite,
      'are answered the holder of a key once that has committed',
      enqueueRefused,
      async (world, transactions) => {
        const { jobs, clock } = world;
        const [holder, contender] = [aJob(clock, KEY), aJob(clock, KEY)];
        const transaction = await transactions.begin();
        await jobs.enqueue([holder], transaction.handle);

        const waiting = jobs.enqueue([contender]);
        await pause(50);
        await transaction.commit();

        assertEqual(await waiting, [holder.id]);
        assertEqual(await statesOf(world, [holder.id, contender.id]), ['Enqueued', null]);
      },
    );

    joining(suite, 'are given the key when its holder rolls back', enqueueRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      const [holder, contender] = [aJob(clock, KEY), aJob(clock, KEY)];
      const transaction = await transactions.begin();
      await jobs.enqueue([holder], transaction.handle);

      const waiting = jobs.enqueue([contender]);
      await pause(50);
      await transaction.rollback();

      assertEqual(await waiting, [contender.id]);
      assertEqual(await statesOf(world, [holder.id, contender.id]), [null, 'Enqueued']);
    });

    joining(
      suite,
      'are told which key they waited for when their patience ends',
      enqueueRefused,
      async (world, transactions) => {
        const { jobs, clock } = world;
        const impatient = await world.another(IMPATIENT);
        const [holder, contender] = [aJob(clock, KEY), aJob(clock, KEY)];
        const transaction = await transactions.begin();
        await jobs.enqueue([holder], transaction.handle);

        const error = await rejectsWith('MILLRACE_LOCK_TIMEOUT', impatient.jobs.enqueue([contender]));
        await transaction.commit();

        assert.match(error.message, /order-1/);
        assertEqual(await statesOf(world, [holder.id, contender.id]), ['Enqueued', null]);
      },
    );

    joining(
      suite,
      'deliver their signal when the sender before them rolls back',
      signalRefused,
      async (world, transactions) => {
        const { workflows, clock } = world;
        await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made)] }));
        const [first, second] = [aSignal(clock), aSignal(clock)];
        const transaction = await transactions.begin();
        assert.equal(await workflows.signal(first, transaction.handle), true);

        const waiting = workflows.signal(second);
        await pause(50);
        await transaction.rollback();

        assert.equal(await waiting, true);
        assertEqual(await statesOf(world, [first.job.id, second.job.id]), [null, 'Enqueued']);
      },
    );

    joining(
      suite,
      'find nobody waiting for their signal when the sender before them commits',
      signalRefused,
      async (world, transactions) => {
        const { workflows, clock } = world;
        await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made)] }));
        const [first, second] = [aSignal(clock), aSignal(clock)];
        const transaction = await transactions.begin();
        assert.equal(await workflows.signal(first, transaction.handle), true);

        const waiting = workflows.signal(second);
        await pause(50);
        await transaction.commit();

        assert.equal(await waiting, false);
        assertEqual(await statesOf(world, [first.job.id, second.job.id]), ['Enqueued', null]);
      },
    );

    joining(
      suite,
      'deliver their signal to the next wait when there are two, whatever the sender before them does',
      signalRefused,
      async (world, transactions) => {
        const { workflows, clock } = world;
        await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made), aBookmark(clock, made)] }));
        const [first, second] = [aSignal(clock), aSignal(clock)];
        const transaction = await transactions.begin();
        assert.equal(await workflows.signal(first, transaction.handle), true);

        const waiting = workflows.signal(second);
        await pause(50);
        await transaction.commit();

        assert.equal(await waiting, true);
        assertEqual(await statesOf(world, [first.job.id, second.job.id]), ['Enqueued', 'Enqueued']);
      },
    );

    joining(
      suite,
      'are told which wait they waited for when their patience ends',
      signalRefused,
      async (world, transactions) => {
        const { workflows, clock } = world;
        const impatient = await world.another(IMPATIENT);
        await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made)] }));
        const [first, second] = [aSignal(clock), aSignal(clock)];
        const transaction = await transactions.begin();
        assert.equal(await workflows.signal(first, transaction.handle), true);

        const error = await rejectsWith('MILLRACE_LOCK_TIMEOUT', impatient.workflows.signal(second));
        await transaction.rollback();

        assert.match(error.message, /approval/);
        assert.match(error.message, /order-1/);
        assert.equal(await stateOf(world, second.job), null);
      },
    );

    joining(
      suite,
      'advance an instance after it, from what it left',
      ({ workflows, clock }, handle) => workflows.advanceInstance(aJob(clock).id, changing({}), handle),
      async (world, transactions) => {
        const { workflows } = world;
        const { id } = await started(world);
        const transaction = await transactions.begin();
        await workflows.advanceInstance(id, setting('first', 1), transaction.handle);

        const waiting = workflows.advanceInstance(id, setting('second', 2));
        await pause(50);
        await transaction.commit();

        assert.equal(await waiting, true);
        assertEqual(JSON.parse((await workflows.getInstance(id))?.data ?? ''), { first: 1, second: 2 });
      },
    );

    joining(
      suite,
      'do not wait for an instance for ever',
      ({ workflows, clock }, handle) => workflows.advanceInstance(aJob(clock).id, changing({}), handle),
      async (world, transactions) => {
        const impatient = await world.another(IMPATIENT);
        const { id } = await started(world);
        const transaction = await transactions.begin();
        await world.workflows.advanceInstance(id, setting('first', 1), transaction.handle);

        await rejectsWith('MILLRACE_LOCK_TIMEOUT', impatient.workflows.advanceInstance(id, setting('second', 2)));
        await transaction.commit();

        assertEqual(JSON.parse((await world.workflows.getInstance(id))?.data ?? ''), { first: 1 });
      },
    );

    joining(suite, 'do not claim what it has not committed', enqueueRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      const transaction = await transactions.begin();
      await jobs.enqueue([aJob(clock)], transaction.handle);

      const claiming = jobs.claim(claimBy('w1'));
      await pause(50);
      await transaction.rollback();

      assertEqual(await claiming, []);
      assertEqual(await jobs.claim(claimBy('w1')), []);
    });

    joining(
      suite,
      'do not lose the end of a job that it is asking to stop, nor of one beside it',
      cancelRefused,
      async (world, transactions) => {
        const { jobs, clock } = world;
        await jobs.enqueue([aJob(clock), aJob(clock)]);
        const [held, free] = await take(jobs, claimBy('w1'));
        assert.ok(held && free);
        const transaction = await transactions.begin();
        await jobs.cancel(held.id, transaction.handle);

        const flushing = jobs.apply([succeeded(held), succeeded(free)]);
        await pause(50);
        await transaction.commit();

        const [first, second] = await flushing;
        assert.ok(
          first?.outcome === 'held' || first?.outcome === 'applied',
          `${first?.outcome} for a job that is ours`,
        );
        assert.equal(second?.outcome, 'applied');
        if (first.outcome === 'held') assert.equal((await settle(jobs, succeeded(held))).outcome, 'applied');
        assertEqual(await statesOf(world, [held.id, free.id]), ['Succeeded', 'Succeeded']);
      },
    );

    joining(
      suite,
      'do not lose a job that it is asking to stop when they renew its lease',
      cancelRefused,
      async (world, transactions) => {
        const { jobs } = world;
        const job = await claimed(world);
        const transaction = await transactions.begin();
        await jobs.cancel(job.id, transaction.handle);

        const renewing = jobs.renew('w1', [job], MINUTE);
        await pause(50);
        await transaction.commit();

        const { answers, unlisted } = await renewing;
        assert.ok(
          ['renewed', 'cancelRequested'].includes(String(answers)),
          `${String(answers)} for a job that is ours`,
        );
        assertEqual(unlisted, []);
        assertEqual((await jobs.renew('w1', [job], MINUTE)).answers, ['cancelRequested']);
      },
    );

    for (const end of ['commit', 'rollback'] as const) {
      joining(
        suite,
        `strand no continuation that it adds while the parent ends, if it ends in ${end}`,
        enqueueRefused,
        async (world, transactions) => {
          const { jobs, clock } = world;
          const parent = await claimed(world);
          const child = aContinuation(clock, parent.id);
          const transaction = await transactions.begin();
          await jobs.enqueue([child], transaction.handle);

          const ending = settle(jobs, succeeded(parent));
          await pause(50);
          await transaction[end]();

          assert.equal((await ending).outcome, 'applied');
          const expected = end === 'commit' ? 'Enqueued' : null;
          assertEqual(await statesOf(world, [parent.id, child.id]), ['Succeeded', expected]);
        },
      );
    }
  });
}
