import assert from 'node:assert/strict';
import type { RecurringQuery } from '../model/monitoring';
import type { RecurringDefinition } from '../model/recurring-definition';
import { HOUR, later, MINUTE, SECOND } from '../model/time';
import { aDefinition, aJob, claimBy, dead, succeeded } from './builders';
import { assertEqual } from './expectations';
import { idsOf, pagesOf, refusesUndecodableCursors } from './pages';
import { applied, takeOne } from './steps';
import type { FactSuite, World } from './world';

/** The list of recurring definitions is in the order in which they fire, each with the job it produced last. */
export function recurringListFacts({ describe, fact }: FactSuite): void {
  describe('the list of recurring definitions', () => {
    fact('has the soonest first', async (world) => {
      await define(world, ['in 3', 3], ['in 1', 1], ['in 2', 2]);

      assertEqual(idsOf((await world.monitoring.queryRecurring({})).items), ['in 1', 'in 2', 'in 3']);
    });

    fact('has those of one instant by id', async (world) => {
      await define(world, ['zebra', 1], ['alpha', 1], ['mango', 1], ['Beta', 1]);

      const { items } = await world.monitoring.queryRecurring({});

      assertEqual(idsOf(items), ['Beta', 'alpha', 'mango', 'zebra']);
    });

    fact('has parked ones last, by id, with the reason', async (world) => {
      const { jobs, monitoring } = world;
      await define(world, ['d', 4], ['c', 1], ['a', 2], ['b', 3]);
      for (const id of ['c', 'a']) {
        const nextFireTime = (await jobs.getRecurring(id))?.nextFireTime;
        assert.ok(nextFireTime);
        await jobs.parkRecurring(id, nextFireTime, `${id} is broken`);
      }

      const { items } = await monitoring.queryRecurring({});

      assertEqual(
        items.map(({ id, nextFireTime, parkedReason }) => [id, nextFireTime === null, parkedReason]),
        [
          ['b', false, null],
          ['d', false, null],
          ['a', true, 'a is broken'],
          ['c', true, 'c is broken'],
        ],
      );
      assertEqual((await pagesOf(walk(world, { limit: 1 }))).flat(), ['b', 'd', 'a', 'c']);
    });

    fact('comes in pages that hold every row once, in order', async (world) => {
      const seven = Array.from({ length: 7 }, (_, n) => [`r${n}`, n] as const);
      await define(world, ...seven.toReversed());

      const pages = await pagesOf(walk(world, { limit: 2 }));

      assertEqual(
        pages.flat(),
        seven.map(([id]) => id),
      );
      assert.ok(pages.every((page) => page.length <= 2));
    });

    fact('pages through those of one instant by id', async (world) => {
      await define(world, ['d', 1], ['b', 1], ['c', 1], ['a', 1], ['Ü', 1]);

      assertEqual((await pagesOf(walk(world, { limit: 2 }))).flat(), ['a', 'b', 'c', 'd', 'Ü']);
    });

    fact('can be had of a queue, of a tenant, of none, and of all', async (world) => {
      const { jobs, monitoring, clock } = world;
      const nextFireTime = later(clock.now(), HOUR);
      await jobs.upsertRecurring(aDefinition(clock, { id: 'a', queue: 'reports', nextFireTime }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'b', nextFireTime }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'c', tenantId: 'acme', nextFireTime }));
      const list = async (query: RecurringQuery) => idsOf((await monitoring.queryRecurring(query)).items);

      assertEqual(await list({ queue: 'reports' }), ['a']);
      assertEqual(await list({ tenantId: 'acme' }), ['c']);
      assertEqual(await list({ tenantId: null }), ['a', 'b']);
      assertEqual(await list({ tenantId: null, queue: 'default' }), ['b']);
      assertEqual(await list({ limit: 0 }), ['a', 'b', 'c']);
    });

    fact('refuses a cursor that no page handed out', async (world) => {
      await define(world, ['a', 1]);

      await refusesUndecodableCursors((cursor) => world.monitoring.queryRecurring({ cursor }));
    });

    fact('shows of a definition what a list needs, and no arguments', async (world) => {
      const { jobs, monitoring, clock } = world;
      const definition = aDefinition(clock, { args: '["secret"]', priority: 2, tenantId: 'acme' });
      await jobs.upsertRecurring(definition);

      const { items } = await monitoring.queryRecurring({});

      assertEqual(items, [
        {
          id: definition.id,
          cron: definition.cron,
          queue: definition.queue,
          handler: definition.handler,
          priority: 2,
          tenantId: 'acme',
          nextFireTime: definition.nextFireTime,
          lastFireTime: null,
          parkedReason: null,
          createdAt: definition.createdAt,
          updatedAt: definition.updatedAt,
          lastOutcome: null,
          lastJobId: null,
        },
      ]);
    });
  });

  describe('the last outcome of a recurring definition', () => {
    fact('is none before it has produced a job', async (world) => {
      await define(world, ['nightly', 1]);
      await world.jobs.enqueue([aJob(world.clock), aJob(world.clock, { recurringId: 'other' })]);

      assertEqual(await lastOf(world), [null, null]);
    });

    fact('is that of the job created last, whatever its queue and tenant', async (world) => {
      const { jobs, clock } = world;
      await define(world, ['nightly', 1]);
      await produce(world);
      await applied(jobs, succeeded(await takeOne(jobs, claimBy('w1'))));
      const newer = aJob(clock, { recurringId: 'nightly', queue: 'elsewhere', tenantId: 'acme' });
      await jobs.enqueue([newer]);
      await applied(jobs, dead(await takeOne(jobs, claimBy('w1', { queues: ['elsewhere'] }))));
      clock.advance(SECOND);
      await jobs.enqueue([aJob(clock)]);

      assertEqual(await lastOf(world), ['Dead', newer.id]);
    });

    fact('is that of a job which still runs, though an older one has ended since', async (world) => {
      const { jobs } = world;
      await define(world, ['nightly', 1]);
      await produce(world);
      const older = await takeOne(jobs, claimBy('w1'));
      const newer = await produce(world);
      await takeOne(jobs, claimBy('w1'));
      await applied(jobs, succeeded(older));

      assertEqual(await lastOf(world), ['Processing', newer.id]);
    });
  });
}

/** Stores definitions that fire in so many minutes. */
async function define(
  { jobs, clock }: World,
  ...all: readonly (readonly [id: string, minutes: number])[]
): Promise<void> {
  const definitions: RecurringDefinition[] = all.map(([id, minutes]) =>
    aDefinition(clock, { id, nextFireTime: later(clock.now(), minutes * MINUTE) }),
  );
  for (const definition of definitions) await jobs.upsertRecurring(definition);
}

/** Stores a job of definition `nightly`, and lets a second pass. */
async function produce({ jobs, clock }: World): Promise<{ id: string }> {
  const job = aJob(clock, { recurringId: 'nightly' });
  await jobs.enqueue([job]);
  clock.advance(SECOND);
  return job;
}

async function lastOf({ monitoring }: World): Promise<[unknown, unknown]> {
  const { items } = await monitoring.queryRecurring({});
  const [definition] = items;
  assert.ok(definition);
  return [definition.lastOutcome, definition.lastJobId];
}

const walk =
  ({ monitoring }: World, query: RecurringQuery) =>
  (cursor: string | null) =>
    monitoring.queryRecurring({ ...query, cursor });
