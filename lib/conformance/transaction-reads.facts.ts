import assert from 'node:assert/strict';
import type { TransactionHandle } from '../storage/transaction-handle';
import { aDefinition, aJob, anId } from './builders';
import { joining } from './caller-transaction.facts';
import { assertEqual, rejectsWith } from './expectations';
import type { FactSuite, World } from './world';

const jobRefused = ({ jobs, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  jobs.getJob(anId(clock), handle);
const definitionRefused = ({ jobs }: World, handle: TransactionHandle): Promise<unknown> =>
  jobs.getRecurring('nightly-report', handle);

/** A read that joins the application's transaction sees what that has done, and nobody else does yet. */
export function transactionReadFacts(suite: FactSuite): void {
  suite.describe('reading in the caller’s transaction (or its refusal by a store that joins none)', () => {
    joining(suite, 'finds a job that only this transaction has stored', jobRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      const another = await world.another();
      const job = aJob(clock);
      const transaction = await transactions.begin();
      await jobs.enqueue([job], transaction.handle);

      const inside = await jobs.getJob(job.id, transaction.handle);
      const outside = [await jobs.getJob(job.id), await another.jobs.getJob(job.id)];
      await transaction.commit();

      assert.equal(inside?.id, job.id);
      assertEqual(outside, [null, null]);
      assertEqual(await jobs.getJob(job.id), inside);
    });

    joining(suite, 'finds a job as this transaction has left it', jobRefused, async (world, transactions) => {
      const { jobs, clock } = world;
      const job = aJob(clock);
      await jobs.enqueue([job]);
      const transaction = await transactions.begin();
      await jobs.cancel(job.id, transaction.handle);

      const inside = await jobs.getJob(job.id, transaction.handle);
      const outside = await jobs.getJob(job.id);
      await transaction.rollback();

      assertEqual([inside?.state, outside?.state], ['Cancelled', 'Enqueued']);
      assert.equal((await jobs.getJob(job.id))?.state, 'Enqueued');
    });

    joining(
      suite,
      'finds a recurring definition as this transaction has left it',
      definitionRefused,
      async (world, transactions) => {
        const { jobs, clock } = world;
        await jobs.upsertRecurring(aDefinition(clock, { id: 'changed' }));
        await jobs.upsertRecurring(aDefinition(clock, { id: 'removed' }));
        const transaction = await transactions.begin();
        for (const id of ['new', 'changed']) {
          await jobs.upsertRecurring(aDefinition(clock, { id, queue: 'moved' }), transaction.handle);
        }
        await jobs.removeRecurring('removed', transaction.handle);

        const queuesOf = async (handle?: TransactionHandle) => {
          const queues: (string | undefined)[] = [];
          for (const id of ['new', 'changed', 'removed']) queues.push((await jobs.getRecurring(id, handle))?.queue);
          return queues;
        };
        const inside = await queuesOf(transaction.handle);
        const outside = await queuesOf();
        await transaction.commit();

        const { queue } = aDefinition(clock);
        assertEqual(inside, ['moved', 'moved', undefined]);
        assertEqual(outside, [undefined, queue, queue]);
        assertEqual(await queuesOf(), inside);
      },
    );

    joining(
      suite,
      'has its turn after every call on this transaction before it, and before every one after it',
      (world, handle) => Promise.all([jobRefused(world, handle), definitionRefused(world, handle)]),
      async ({ jobs, clock }, transactions) => {
        const job = aJob(clock);
        const definition = aDefinition(clock);
        const transaction = await transactions.begin();
        const { handle } = transaction;

        const [, stored, , cancelled, , added, , removed] = await Promise.all([
          jobs.enqueue([job], handle),
          jobs.getJob(job.id, handle),
          jobs.cancel(job.id, handle),
          jobs.getJob(job.id, handle),
          jobs.upsertRecurring(definition, handle),
          jobs.getRecurring(definition.id, handle),
          jobs.removeRecurring(definition.id, handle),
          jobs.getRecurring(definition.id, handle),
        ]);
        await transaction.commit();

        assertEqual([stored?.state, cancelled?.state], ['Enqueued', 'Cancelled']);
        assertEqual([added?.id, removed], [definition.id, null]);
      },
    );

    for (const [what, read] of [
      ['a job', jobRefused],
      ['a recurring definition', definitionRefused],
    ] as const) {
      joining(suite, `of ${what} is refused once it has ended`, read, async (world, transactions) => {
        for (const end of ['commit', 'rollback'] as const) {
          const transaction = await transactions.begin();
          await read(world, transaction.handle);
          await transaction[end]();

          await rejectsWith('MILLRACE_INVALID_TRANSACTION', read(world, transaction.handle));
        }
      });

      joining(suite, `of ${what} is refused when it is one of another database`, read, async (world, transactions) => {
        const transaction = await transactions.beginElsewhere();

        await rejectsWith('MILLRACE_INVALID_TRANSACTION', read(world, transaction.handle));
        await transaction.rollback();
      });
    }
  });
}
