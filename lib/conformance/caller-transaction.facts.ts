import assert from 'node:assert/strict';
import { HOUR, later } from '../model/time';
import type { Storage } from '../storage/storage';
import type { TransactionHandle } from '../storage/transaction-handle';
import { aContinuation, aDefinition, aJob, anId } from './builders';
import { assertEqual, rejectsWith } from './expectations';
import type { CallerTransactions } from './harness';
import { claimed, started, stateOf, statesOf } from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, anInstance, aSignal, aStep, changing } from './workflow-builders';

/** What can be done in a caller's transaction: the call, and whether a store shows its effect. */
interface Operation {
  call(transaction?: TransactionHandle): Promise<unknown>;
  happened(store: Storage): Promise<boolean>;
}

const OPERATIONS: Readonly<Record<string, (world: World) => Promise<Operation>>> = {
  'an enqueue': async ({ jobs, clock }) => {
    const parent = aJob(clock);
    const child = aContinuation(clock, parent.id, { idempotencyKey: 'K' });
    return {
      call: (transaction) => jobs.enqueue([parent, child], transaction),
      happened: async (store) => (await statesOf(store, [parent.id, child.id])).join() === 'Enqueued,Awaiting',
    };
  },
  'cancelling a job that waits': async ({ jobs, clock }) => {
    const job = aJob(clock);
    const child = aContinuation(clock, job.id);
    await jobs.enqueue([job, child]);
    return {
      call: (transaction) => jobs.cancel(job.id, transaction),
      happened: async (store) => (await statesOf(store, [job.id, child.id])).join() === 'Cancelled,Cancelled',
    };
  },
  'asking a running job to stop': async (world) => {
    const { id } = await claimed(world);
    return {
      call: (transaction) => world.jobs.cancel(id, transaction),
      happened: async (store) => (await store.jobs.getJob(id))?.cancelRequested === true,
    };
  },
  'upserting a recurring definition': async ({ jobs, clock }) => {
    await jobs.upsertRecurring(aDefinition(clock));
    return {
      call: (transaction) => jobs.upsertRecurring(aDefinition(clock, { queue: 'moved' }), transaction),
      happened: async (store) => (await store.jobs.getRecurring('nightly-report'))?.queue === 'moved',
    };
  },
  'removing a recurring definition': async ({ jobs, clock }) => {
    await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: later(clock.now(), HOUR) }));
    return {
      call: (transaction) => jobs.removeRecurring('nightly-report', transaction),
      happened: async (store) => (await store.jobs.getRecurring('nightly-report')) === null,
    };
  },
  'starting an instance': async ({ workflows, clock }) => {
    const instance = anInstance(clock, { startKey: 'K' });
    const [job, bookmark] = [aStep(clock, instance), aBookmark(clock, instance)];
    return {
      call: (transaction) => workflows.createInstance({ instance, jobs: [job], bookmarks: [bookmark] }, transaction),
      happened: async (store) =>
        (await store.workflows.getInstance(instance.id)) !== null &&
        (await store.workflows.getBookmarks(instance.id)).length === 1 &&
        (await stateOf(store, job)) === 'Enqueued',
    };
  },
  'advancing an instance': async (world) => {
    const instance = await started(world);
    const job = aStep(world.clock, instance);
    const advance = changing({ update: { state: 'Suspended' }, enqueue: [job] });
    return {
      call: (transaction) => world.workflows.advanceInstance(instance.id, advance, transaction),
      happened: async (store) =>
        (await store.workflows.getInstance(instance.id))?.state === 'Suspended' &&
        (await stateOf(store, job)) === 'Enqueued',
    };
  },
  'a signal': async (world) => {
    const instance = await started(world, {}, (made) => ({ bookmarks: [aBookmark(world.clock, made)] }));
    const signal = aSignal(world.clock);
    return {
      call: (transaction) => world.workflows.signal(signal, transaction),
      happened: async (store) =>
        (await store.workflows.getBookmarks(instance.id)).length === 0 &&
        (await stateOf(store, signal.job)) === 'Enqueued',
    };
  },
};

/** For a store that joins no transaction: one that looks open. */
const OPEN_HANDLE: TransactionHandle = { query: () => Promise.resolve([]), isTransactionActive: true };

/** A fact about transactions; a store that joins none must refuse the operation that the fact is about. */
export function joining(
  { fact }: FactSuite,
  sentence: string,
  refused: (world: World, handle: TransactionHandle) => Promise<unknown>,
  body: (world: World, transactions: CallerTransactions) => Promise<void>,
): void {
  fact(sentence, async (world) => {
    if (world.transactions) return body(world, world.transactions);
    await rejectsWith('MILLRACE_INVALID_TRANSACTION', refused(world, OPEN_HANDLE));
  });
}

const enqueueRefused = ({ jobs, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  jobs.enqueue([aJob(clock)], handle);

/** What is done in the application's transaction exists if and only if that commits. */
export function callerTransactionFacts(suite: FactSuite): void {
  suite.describe('the caller’s transaction (or its refusal by a store that joins none)', () => {
    for (const [name, prepare] of Object.entries(OPERATIONS)) {
      suite.fact(`lets nobody see ${name} before it commits, and everybody after`, async (world) => {
        const operation = await prepare(world);
        if (!world.transactions) return expectRefusal(world, operation);
        const transaction = await world.transactions.begin();

        await operation.call(transaction.handle);
        assert.equal(await operation.happened(world.storage), false);
        await transaction.commit();

        assert.equal(await operation.happened(world.storage), true);
        assert.equal(await operation.happened(await world.another()), true);
      });

      suite.fact(`leaves nothing of ${name} when it rolls back`, async (world) => {
        const operation = await prepare(world);
        if (!world.transactions) return expectRefusal(world, operation);
        const transaction = await world.transactions.begin();

        await operation.call(transaction.handle);
        await transaction.rollback();

        assert.equal(await operation.happened(world.storage), false);
        await operation.call();
        assert.equal(await operation.happened(world.storage), true);
      });
    }

    joining(
      suite,
      'stays usable after a key conflict, which answers the holder',
      enqueueRefused,
      async (world, transactions) => {
        const { jobs, clock } = world;
        const holder = aJob(clock, { idempotencyKey: 'K' });
        await jobs.enqueue([holder]);
        const [before, duplicate, after] = [aJob(clock), aJob(clock, { idempotencyKey: 'K' }), aJob(clock)];
        const transaction = await transactions.begin();

        await jobs.enqueue([before], transaction.handle);
        const ids = await jobs.enqueue([duplicate], transaction.handle);
        await jobs.enqueue([after], transaction.handle);
        await transaction.commit();

        assertEqual(ids, [holder.id]);
        const states = await statesOf(world, [before.id, duplicate.id, after.id]);
        assertEqual(states, ['Enqueued', null, 'Enqueued']);
      },
    );

    joining(suite, 'sees its own keys and parents', enqueueRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      const [first, second] = [aJob(clock, { idempotencyKey: 'K' }), aJob(clock, { idempotencyKey: 'K' })];
      const child = aContinuation(clock, first.id);
      const transaction = await transactions.begin();

      await jobs.enqueue([first], transaction.handle);
      const ids = await jobs.enqueue([second], transaction.handle);
      await jobs.enqueue([child], transaction.handle);
      await transaction.commit();

      assertEqual(ids, [first.id]);
      assertEqual(await statesOf(world, [first.id, second.id, child.id]), ['Enqueued', null, 'Awaiting']);
    });

    joining(
      suite,
      'stays usable after a call that named an unknown parent',
      ({ jobs, clock }, handle) => jobs.enqueue([aContinuation(clock, anId(clock))], handle),
      async (world, transactions) => {
        const { jobs, clock } = world;
        const [good, orphan, after] = [aJob(clock), aContinuation(clock, anId(clock)), aJob(clock)];
        const transaction = await transactions.begin();
        await jobs.enqueue([good], transaction.handle);

        await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([orphan], transaction.handle));
        await jobs.enqueue([after], transaction.handle);
        await transaction.commit();

        assertEqual(await statesOf(world, [good.id, orphan.id, after.id]), ['Enqueued', null, 'Enqueued']);
      },
    );

    joining(
      suite,
      'takes many operations at once, each to its end before the next',
      async ({ jobs, clock }, handle) => Promise.all([0, 1].map(() => jobs.enqueue([aJob(clock)], handle))),
      async (world, transactions) => {
        const { jobs, clock } = world;
        const holder = aJob(clock, { idempotencyKey: 'K' });
        await jobs.enqueue([holder]);
        const ten = Array.from({ length: 10 }, (_, n) => aJob(clock, n % 2 === 0 ? {} : { idempotencyKey: 'K' }));
        const transaction = await transactions.begin();

        const ids = await Promise.all(ten.map((job) => jobs.enqueue([job], transaction.handle)));
        await transaction.commit();

        assertEqual(
          ids.flat(),
          ten.map(({ id }, n) => (n % 2 === 0 ? id : holder.id)),
        );
        const states = await statesOf(
          world,
          ten.map(({ id }) => id),
        );
        assertEqual(
          states,
          ten.map((_, n) => (n % 2 === 0 ? 'Enqueued' : null)),
        );
      },
    );

    joining(
      suite,
      'stays usable after a start whose key a live instance holds',
      ({ workflows, clock }, handle) =>
        workflows.createInstance({ instance: anInstance(clock), jobs: [], bookmarks: [] }, handle),
      async (world, transactions) => {
        const { jobs, workflows, clock } = world;
        const live = await started(world, { startKey: 'K' });
        const [instance, after] = [anInstance(clock, { startKey: 'K' }), aJob(clock)];
        const transaction = await transactions.begin();

        const id = await workflows.createInstance({ instance, jobs: [], bookmarks: [] }, transaction.handle);
        await jobs.enqueue([after], transaction.handle);
        await transaction.commit();

        assert.equal(id, live.id);
        assert.equal(await stateOf(world, after), 'Enqueued');
      },
    );

    joining(suite, 'is refused once it has ended', enqueueRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      for (const end of ['commit', 'rollback'] as const) {
        const transaction = await transactions.begin();
        await jobs.enqueue([aJob(clock)], transaction.handle);
        await transaction[end]();
        const late = aJob(clock);

        await rejectsWith('MILLRACE_INVALID_TRANSACTION', jobs.enqueue([late], transaction.handle));

        assert.equal(await stateOf(world, late), null);
      }
    });

    joining(suite, 'is refused when it is one of another database', enqueueRefused, async (world, transactions) => {
      const transaction = await transactions.beginElsewhere();
      const job = aJob(world.clock);

      await rejectsWith('MILLRACE_INVALID_TRANSACTION', world.jobs.enqueue([job], transaction.handle));
      await transaction.rollback();

      assert.equal(await stateOf(world, job), null);
    });
  });
}

async function expectRefusal({ storage }: World, operation: Operation): Promise<void> {
  await rejectsWith('MILLRACE_INVALID_TRANSACTION', operation.call(OPEN_HANDLE));
  assert.equal(await operation.happened(storage), false);
}
