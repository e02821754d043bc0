import assert from 'node:assert/strict';
import { Retry } from '../model/retry';
import { HOUR, later, MINUTE, SECOND } from '../model/time';
import { aDefinition, aJob } from './builders';
import { assertEqual, assertSameDefinition, rejectsWith } from './expectations';
import { inParallel, stateOf, storedDefinition } from './steps';
import type { FactSuite } from './world';

/** A recurring definition is what was upserted last; the schedule it is on changes only with its expression. */
export function recurringFacts({ describe, fact }: FactSuite): void {
  describe('recurring definitions', () => {
    fact('come back with every field as they were stored', async ({ jobs, clock }) => {
      const definition = aDefinition(clock, {
        id: 'billing/monthly',
        cron: '30 3 1 JAN-dec *',
        queue: 'billing',
        priority: 7,
        handler: 'Billing.run',
        args: '[{"month":null,"rates":[0.19,0.07]}]',
        argTypes: '{"0.month":"undefined"}',
        retry: Retry.exponential(4, 3 * SECOND, 2 * MINUTE),
        timeout: 90 * SECOND,
        misfire: 'skip',
        tenantId: 'acme',
        nextFireTime: new Date('2026-02-01T03:30:00.000Z'),
      });

      await jobs.upsertRecurring(definition);

      assertSameDefinition(await jobs.getRecurring(definition.id), definition);
    });

    fact('are unknown until they are stored', async ({ jobs }) => {
      assert.equal(await jobs.getRecurring('nightly-report'), null);
    });

    fact('take everything over from an upsert but when they were created and what they are on', async (world) => {
      const { jobs, clock } = world;
      const first = aDefinition(clock);
      await jobs.upsertRecurring(first);
      clock.advance(MINUTE);
      const second = aDefinition(clock, {
        queue: 'reports',
        priority: 3,
        handler: 'Report.render',
        args: '["b"]',
        argTypes: '{"0":"url"}',
        retry: Retry.fixed(SECOND, 2),
        timeout: SECOND,
        misfire: 'skip',
        nextFireTime: later(clock.now(), 5 * HOUR),
      });

      await jobs.upsertRecurring(second);

      assertSameDefinition(await jobs.getRecurring(first.id), {
        ...second,
        createdAt: first.createdAt,
        nextFireTime: first.nextFireTime,
      });
    });

    fact('take a new fire time over with a new expression', async (world) => {
      const { jobs, clock } = world;
      await jobs.upsertRecurring(aDefinition(clock, { cron: '0 * * * *' }));
      const nextFireTime = later(clock.now(), 30 * MINUTE);

      await jobs.upsertRecurring(aDefinition(clock, { cron: '30 * * * *', nextFireTime }));

      const stored = await storedDefinition(world, 'nightly-report');
      assertEqual([stored.cron, stored.nextFireTime], ['30 * * * *', nextFireTime]);
    });

    fact('count an expression as new when only the case of a letter or a space differs', async (world) => {
      const { jobs, clock } = world;
      const texts = ['0 0 * * MON', '0 0 * * mon', '0 0 * * mon ', '0  0 * * mon '];
      for (const [n, cron] of texts.entries()) {
        const nextFireTime = later(clock.now(), (n + 1) * HOUR);

        await jobs.upsertRecurring(aDefinition(clock, { cron, nextFireTime }));

        const stored = await storedDefinition(world, 'nightly-report');
        assertEqual([stored.cron, stored.nextFireTime], [cron, nextFireTime]);
      }
    });

    fact('never move to the occurrence that fired last, or before it', async (world) => {
      const { jobs, clock } = world;
      const planned = later(clock.now(), HOUR);
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: planned }));
      clock.set(planned);
      await jobs.tryFireRecurring('nightly-report', planned, later(planned, HOUR), aJob(clock));
      clock.advance(-30 * MINUTE); // an operator sets the clock back

      for (const [cron, nextFireTime] of [
        ['0,45 * * * *', later(planned, -15 * MINUTE)],
        ['0,5 * * * *', planned],
      ] as const) {
        await jobs.upsertRecurring(aDefinition(clock, { cron, nextFireTime }));

        const stored = await storedDefinition(world, 'nightly-report');
        assertEqual([stored.cron, stored.lastFireTime], [cron, planned]);
        assert.ok(stored.nextFireTime && stored.nextFireTime > planned, `moved to ${String(stored.nextFireTime)}`);
      }
    });

    fact('keep when they fired last', async (world) => {
      const { jobs, clock } = world;
      const planned = later(clock.now(), HOUR);
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: planned }));
      clock.set(planned);
      await jobs.tryFireRecurring('nightly-report', planned, later(planned, HOUR), aJob(clock));

      const nextFireTime = later(planned, 2 * HOUR);
      await jobs.upsertRecurring(aDefinition(clock, { cron: '0 */2 * * *', nextFireTime, lastFireTime: null }));

      const stored = await storedDefinition(world, 'nightly-report');
      assertEqual([stored.lastFireTime, stored.nextFireTime], [planned, nextFireTime]);
    });

    fact('of another tenant are refused, and stay as they are', async (world) => {
      const { jobs, clock } = world;
      for (const [id, owner, stranger] of [
        ['a', 'acme', 'umbrella'],
        ['b', 'acme', null],
        ['c', null, 'acme'],
        ['d', null, ''],
      ] as const) {
        const definition = aDefinition(clock, { id, tenantId: owner });
        await jobs.upsertRecurring(definition);

        await rejectsWith(
          'MILLRACE_RECURRING_TENANT',
          jobs.upsertRecurring(aDefinition(clock, { id, tenantId: stranger, queue: 'stolen' })),
        );

        assertSameDefinition(await jobs.getRecurring(id), definition);
      }
    });

    fact('are one, however many nodes upsert them at once', async (world) => {
      const nodes = await world.nodes();

      await inParallel(8, (n) =>
        nodes[n % 2 === 0 ? 0 : 1].jobs.upsertRecurring(aDefinition(world.clock, { queue: `q${n}` })),
      );

      const { items } = await world.monitoring.queryRecurring({});
      assertEqual(
        items.map(({ id }) => id),
        ['nightly-report'],
      );
    });

    fact('are gone once they are removed, and removing an unknown one does nothing', async (world) => {
      const { jobs, clock } = world;
      const definition = aDefinition(clock);
      await jobs.upsertRecurring(definition);
      await jobs.upsertRecurring(aDefinition(clock, { id: 'other' }));

      await jobs.removeRecurring(definition.id);
      await jobs.removeRecurring(definition.id);

      assert.equal(await jobs.getRecurring(definition.id), null);
      assert.notEqual(await jobs.getRecurring('other'), null);
    });

    fact('leave what they fired behind when they are removed, with their id on it', async (world) => {
      const { jobs, clock } = world;
      const now = clock.now();
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: now }));
      const job = aJob(clock, { recurringId: 'nightly-report', occurrenceAt: now });
      await jobs.tryFireRecurring('nightly-report', now, later(now, HOUR), job);

      await jobs.removeRecurring('nightly-report');

      const stored = await jobs.getJob(job.id);
      assertEqual([stored?.state, stored?.recurringId, stored?.occurrenceAt], ['Enqueued', 'nightly-report', now]);
      assert.equal(await stateOf(world, job), 'Enqueued');
    });
  });
}
