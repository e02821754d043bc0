import assert from 'node:assert/strict';
import type { JobRecord } from '../model/job';
import { DEFAULT_PAGE_SIZE, type JobQuery, MAX_PAGE_SIZE } from '../model/monitoring';
import { later, MINUTE, SECOND } from '../model/time';
import { aDefinition, aJob, claimBy, someJobs, succeeded } from './builders';
import { assertEqual, rejectsWith } from './expectations';
import { idsOf, pagesOf, refusesUndecodableCursors } from './pages';
import { applied, claimed, takeOne } from './steps';
import type { FactSuite, World } from './world';

/** The job list walks from the newest to the oldest, and no change under way makes it skip or repeat a row. */
export function jobListFacts({ describe, fact }: FactSuite): void {
  describe('the job list', () => {
    fact('is newest first', async (world) => {
      const five = await oneASecond(world, 5);

      const { items } = await world.monitoring.queryJobs({});

      assertEqual(idsOf(items), idsOf(five).toReversed());
    });

    fact('comes in pages that hold every row once, in order', async (world) => {
      const ten = await oneASecond(world, 10);

      const pages = await pagesOf(walk(world, { limit: 3 }));

      assertEqual(pages.flat(), idsOf(ten).toReversed());
      assert.ok(pages.every((page) => page.length <= 3));
    });

    fact('pages through jobs of one instant by id', async (world) => {
      const ten = someJobs(10, world.clock);
      await world.jobs.enqueue(ten.toReversed());

      assertEqual((await pagesOf(walk(world, { limit: 4 }))).flat(), idsOf(ten).toReversed());
    });

    fact('ends with a page that has no cursor', async (world) => {
      await oneASecond(world, 3);

      const { items, nextCursor } = await world.monitoring.queryJobs({ limit: 3 });

      assertEqual([items.length, nextCursor], [3, null]);
    });

    fact('of an empty store is empty', async ({ monitoring }) => {
      assertEqual(await monitoring.queryJobs({}), { items: [], nextCursor: null });
    });

    fact('is not disturbed by changes between its pages', async (world) => {
      const { jobs, monitoring, clock } = world;
      const six = await oneASecond(world, 6);
      const first = await monitoring.queryJobs({ limit: 2 });
      const read = six[5];
      const unread = six[1];
      assert.ok(read && unread);

      await jobs.cancel(read.id);
      await jobs.cancel(unread.id);
      await jobs.enqueue([aJob(clock)]);

      const rest = await pagesOf(walk(world, { limit: 2 }), first.nextCursor);
      assertEqual([...idsOf(first.items), ...rest.flat()], idsOf(six).toReversed());
    });

    fact('goes on where it was when the row it stopped at is gone', async (world) => {
      const { jobs, monitoring } = world;
      const four = await oneASecond(world, 4);
      const first = await monitoring.queryJobs({ limit: 2 });
      const last = first.items[1];
      assert.ok(last);
      await jobs.cancel(last.id);
      await jobs.delete(last.id);

      const rest = await pagesOf(walk(world, { limit: 2 }), first.nextCursor);

      assertEqual(rest.flat(), idsOf(four).toReversed().slice(2));
    });

    fact('refuses a cursor that no page handed out', async (world) => {
      await oneASecond(world, 3);

      await refusesUndecodableCursors((cursor) => world.monitoring.queryJobs({ cursor }));
    });

    fact('refuses the cursor of a list of another sort', async (world) => {
      const { jobs, monitoring, clock } = world;
      await oneASecond(world, 3);
      for (const id of ['a', 'b']) await jobs.upsertRecurring(aDefinition(clock, { id }));
      const { nextCursor } = await monitoring.queryRecurring({ limit: 1 });
      assert.notEqual(nextCursor, null);

      await rejectsWith('MILLRACE_INVALID_CURSOR', monitoring.queryJobs({ cursor: nextCursor }));
    });

    fact('clamps the size of its pages', async (world) => {
      await world.jobs.enqueue(someJobs(MAX_PAGE_SIZE + 1, world.clock));

      const sizeOf = async (query: JobQuery) => (await world.monitoring.queryJobs(query)).items.length;

      assert.equal(await sizeOf({}), DEFAULT_PAGE_SIZE);
      assert.equal(await sizeOf({ limit: 0 }), DEFAULT_PAGE_SIZE);
      assert.equal(await sizeOf({ limit: -5 }), DEFAULT_PAGE_SIZE);
      assert.equal(await sizeOf({ limit: 10_000 }), MAX_PAGE_SIZE);
      assert.equal(await sizeOf({ limit: MAX_PAGE_SIZE }), MAX_PAGE_SIZE);
    });

    fact('can be had of some states, and of any when none is named', async (world) => {
      const { jobs, monitoring } = world;
      const [a, b, c] = await oneASecond(world, 3);
      assert.ok(a && b && c);
      await jobs.cancel(b.id);
      await applied(jobs, succeeded(await takeOne(jobs, claimBy('w1', { limit: 1 }))));
      const list = async (query: JobQuery) => idsOf((await monitoring.queryJobs(query)).items);

      assertEqual(await list({ states: ['Cancelled'] }), [b.id]);
      assertEqual(await list({ states: ['Cancelled', 'Succeeded'] }), [b.id, a.id]);
      assertEqual(await list({ states: ['Dead'] }), []);
      assertEqual(await list({ states: [] }), [c.id, b.id, a.id]);
      assertEqual(await list({}), [c.id, b.id, a.id]);
    });

    fact('can be had of a queue since an instant, that instant included', async (world) => {
      const { jobs, monitoring, clock } = world;
      const stored: JobRecord[] = [];
      for (const queue of ['alpha', 'beta', 'alpha', 'beta', 'alpha']) {
        const job = aJob(clock, { queue });
        await jobs.enqueue([job]);
        stored.push(job);
        clock.advance(SECOND);
      }
      const alphas = stored.filter(({ queue }) => queue === 'alpha');

      const { items } = await monitoring.queryJobs({ queue: 'alpha', createdAfter: alphas[1]?.createdAt });

      assertEqual(idsOf(items), idsOf(alphas.slice(1)).toReversed());
    });

    fact('can be had between two instants, the later one excluded', async (world) => {
      const [first, second, third] = await oneASecond(world, 4);
      assert.ok(first && second && third);

      const { items } = await world.monitoring.queryJobs({
        createdAfter: first.createdAt,
        createdBefore: third.createdAt,
      });

      assertEqual(idsOf(items), [second.id, first.id]);
    });

    fact('can be had of a handler, and of a recurring definition', async (world) => {
      const { jobs, monitoring, clock } = world;
      const mail = aJob(clock, { handler: 'EmailSender.send' });
      const nightly = aJob(clock, { recurringId: 'nightly', handler: 'Report.run' });
      await jobs.enqueue([mail, nightly, aJob(clock)]);

      const byHandler = await monitoring.queryJobs({ handler: 'EmailSender.send' });
      const byDefinition = await monitoring.queryJobs({ recurringId: 'nightly' });
      const byBoth = await monitoring.queryJobs({ recurringId: 'nightly', handler: 'EmailSender.send' });

      assertEqual(idsOf(byHandler.items), [mail.id]);
      assertEqual(idsOf(byDefinition.items), [nightly.id]);
      assertEqual(byBoth.items, []);
    });

    fact('can be had of one tenant, of none, and of all', async (world) => {
      const { jobs, monitoring, clock } = world;
      await jobs.enqueue([...someJobs(2, clock), ...someJobs(3, clock, { tenantId: 'acme' })]);
      const tenantsOf = async (query: JobQuery) =>
        (await monitoring.queryJobs(query)).items.map(({ tenantId }) => tenantId);

      assert.equal((await tenantsOf({})).length, 5);
      assertEqual(await tenantsOf({ tenantId: null }), [null, null]);
      assertEqual(await tenantsOf({ tenantId: 'acme' }), ['acme', 'acme', 'acme']);
      assertEqual(await tenantsOf({ tenantId: '' }), []);
    });

    fact('keeps to its filter over all its pages', async (world) => {
      const { jobs, clock } = world;
      const mixed = Array.from({ length: 12 }, (_, n) => aJob(clock, { tenantId: n % 3 === 0 ? 'acme' : null }));
      await jobs.enqueue(mixed);

      const pages = await pagesOf(walk(world, { tenantId: 'acme', states: ['Enqueued'], limit: 2 }));

      assertEqual(pages.flat(), idsOf(mixed.filter(({ tenantId }) => tenantId === 'acme')).toReversed());
    });

    fact('shows of a job what a list needs, and no arguments', async (world) => {
      const { jobs, monitoring, clock } = world;
      const job = await claimed(world, { priority: 3, tenantId: 'acme', args: '["secret"]' });
      clock.advance(MINUTE);
      await applied(jobs, succeeded(job));

      const { items } = await monitoring.queryJobs({});

      assertEqual(items, [
        {
          id: job.id,
          queue: 'default',
          state: 'Succeeded',
          handler: 'Conformance.work',
          priority: 3,
          createdAt: later(clock.now(), -MINUTE),
          dueAt: null,
          finishedAt: clock.now(),
          attempt: 1,
          failures: 0,
          releases: 0,
          interruptions: 0,
          tenantId: 'acme',
          workerId: null,
        },
      ]);
    });
  });
}

const walk =
  ({ monitoring }: World, query: JobQuery) =>
  (cursor: string | null) =>
    monitoring.queryJobs({ ...query, cursor });

/** Stores so many jobs, a second apart, the oldest first. */
async function oneASecond({ jobs, clock }: World, count: number): Promise<JobRecord[]> {
  const stored: JobRecord[] = [];
  for (let n = 0; n < count; n++) {
    const job = aJob(clock);
    await jobs.enqueue([job]);
    stored.push(job);
    clock.advance(SECOND);
  }
  return stored;
}
