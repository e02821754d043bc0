import assert from 'node:assert/strict';
import type { RecurringDefinition } from '../model/recurring-definition';
import { HOUR, later, MINUTE, SECOND } from '../model/time';
import { aDefinition, aJob, claimBy } from './builders';
import { assertEqual } from './expectations';
import { inParallel, inRounds, stateOf, statesOf, storedDefinition, storedJob } from './steps';
import type { FactSuite, World } from './world';

const ID = 'nightly-report';

/** Guarantee 5: an occurrence fires on exactly one node. */
export function recurringFireFacts({ describe, fact }: FactSuite): void {
  describe('due recurring definitions', () => {
    fact('are listed by their time and then by id, within the limit', async ({ jobs, clock }) => {
      const now = clock.now();
      const at = (id: string, minutes: number) =>
        aDefinition(clock, { id, nextFireTime: later(now, minutes * MINUTE) });
      for (const definition of [at('b', -1), at('late', 1), at('a', -1), at('old', -2), at('now', 0)]) {
        await jobs.upsertRecurring(definition);
      }

      const due = await jobs.getDueRecurring(10);
      const first = await jobs.getDueRecurring(1);

      assertEqual(
        due.map(({ id }) => id),
        ['old', 'a', 'b', 'now'],
      );
      assertEqual(
        first.map(({ id }) => id),
        ['old'],
      );
    });

    fact('are listed complete', async (world) => {
      const definition = await dueNow(world, { queue: 'reports', args: '[1]', misfire: 'skip', tenantId: 'acme' });

      const [listed] = await world.jobs.getDueRecurring(10);

      assertEqual(listed, await storedDefinition(world, definition.id));
    });
  });

  describe('firing', () => {
    fact('stores the occurrence and moves the definition on, both at once', async (world) => {
      const { jobs, clock } = world;
      const planned = clock.now();
      await dueNow(world);
      clock.advance(3 * SECOND);
      const job = aJob(clock, { recurringId: ID, occurrenceAt: planned });

      assert.equal(await jobs.tryFireRecurring(ID, planned, later(planned, HOUR), job), true);

      const { nextFireTime, lastFireTime, updatedAt } = await storedDefinition(world, ID);
      assertEqual([nextFireTime, lastFireTime, updatedAt], [later(planned, HOUR), planned, clock.now()]);
      assert.equal(await stateOf(world, job), 'Enqueued');
      assertEqual(await jobs.getDueRecurring(10), []);
    });

    fact('by eight nodes at once succeeds for one, and stores its job alone', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      await inRounds(5, async (round) => {
        const id = `r${round}`;
        const planned = clock.now();
        await dueNow(world, { id });
        const eight = Array.from({ length: 8 }, () => aJob(clock, { recurringId: id }));

        const answers = await inParallel(8, (n) =>
          nodes[n % 2 === 0 ? 0 : 1].jobs.tryFireRecurring(id, planned, later(planned, HOUR), eight[n] ?? null),
        );

        assert.equal(answers.filter(Boolean).length, 1);
        const states = await statesOf(
          world,
          eight.map((job) => job.id),
        );
        assertEqual(
          states,
          answers.map((fired) => (fired ? 'Enqueued' : null)),
        );
        const { nextFireTime, lastFireTime } = await storedDefinition(world, id);
        assertEqual([nextFireTime, lastFireTime], [later(planned, HOUR), planned]);
      });
    });

    fact('answers false when the expected time is not the stored one, and stores nothing', async (world) => {
      const { jobs, clock } = world;
      const planned = clock.now();
      await dueNow(world);
      const job = aJob(clock);

      for (const stale of [later(planned, -HOUR), later(planned, 1), later(planned, -1)]) {
        assert.equal(await jobs.tryFireRecurring(ID, stale, later(planned, HOUR), job), false);
      }

      assert.equal(await stateOf(world, job), null);
      const { nextFireTime, lastFireTime } = await storedDefinition(world, ID);
      assertEqual([nextFireTime, lastFireTime], [planned, null]);
    });

    fact('answers false for an unknown definition, and for one that was removed', async (world) => {
      const { jobs, clock } = world;
      const job = aJob(clock);
      assert.equal(await jobs.tryFireRecurring('unknown', clock.now(), later(clock.now(), HOUR), job), false);
      const { nextFireTime } = await dueNow(world);
      await jobs.removeRecurring(ID);

      assert.equal(await jobs.tryFireRecurring(ID, nextFireTime, later(nextFireTime, HOUR), job), false);

      assert.equal(await stateOf(world, job), null);
    });

    fact('without a job drops the occurrence, which then did not fire', async (world) => {
      const { jobs } = world;
      const { nextFireTime } = await dueNow(world);

      assert.equal(await jobs.tryFireRecurring(ID, nextFireTime, later(nextFireTime, HOUR), null), true);

      const stored = await storedDefinition(world, ID);
      assertEqual([stored.nextFireTime, stored.lastFireTime], [later(nextFireTime, HOUR), null]);
      assertEqual(await jobs.claim(claimBy('w1')), []);
    });

    fact('without a next time takes the definition out of the schedule', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);
      const job = aJob(clock);

      assert.equal(await jobs.tryFireRecurring(ID, nextFireTime, null, job), true);

      const stored = await storedDefinition(world, ID);
      assertEqual([stored.nextFireTime, stored.lastFireTime], [null, nextFireTime]);
      assert.notEqual(stored.parkedReason, null);
      assert.equal(await stateOf(world, job), 'Enqueued');
      clock.advance(1000 * HOUR);
      assertEqual(await jobs.getDueRecurring(10), []);
    });

    fact('goes on when an active job holds the key of the occurrence', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);
      await jobs.enqueue([aJob(clock, { idempotencyKey: 'K' })]);
      const job = aJob(clock, { idempotencyKey: 'K' });

      assert.equal(await jobs.tryFireRecurring(ID, nextFireTime, later(nextFireTime, HOUR), job), true);

      assert.equal(await stateOf(world, job), null);
      assertEqual((await storedDefinition(world, ID)).nextFireTime, later(nextFireTime, HOUR));
    });

    fact(
      'and an upsert at one moment lose neither: the schedule is that of the fire, if it was in time',
      async (world) => {
        const { clock } = world;
        const [one, other] = await world.nodes();
        await inRounds(10, async (round) => {
          const id = `r${round}`;
          const { nextFireTime } = await dueNow(world, { id });
          const job = aJob(clock);
          const next = later(nextFireTime, HOUR);

          const [fired] = await Promise.all([
            one.jobs.tryFireRecurring(id, nextFireTime, next, job),
            other.jobs.upsertRecurring(aDefinition(clock, { id, queue: 'moved', nextFireTime: later(next, HOUR) })),
          ]);

          const stored = await storedDefinition(world, id);
          assert.equal(stored.queue, 'moved');
          assertEqual(
            [stored.nextFireTime, stored.lastFireTime, await stateOf(world, job)],
            fired ? [next, nextFireTime, 'Enqueued'] : [nextFireTime, null, null],
          );
        });
      },
    );
  });

  describe('parking', () => {
    fact('takes a definition out of the schedule, and says why', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);

      assert.equal(await jobs.parkRecurring(ID, nextFireTime, 'minute: 61 is not a minute'), true);

      const stored = await storedDefinition(world, ID);
      assertEqual([stored.nextFireTime, stored.parkedReason], [null, 'minute: 61 is not a minute']);
      clock.advance(1000 * HOUR);
      assertEqual(await jobs.getDueRecurring(10), []);
    });

    fact('answers false when the definition has moved on, or is gone', async (world) => {
      const { jobs } = world;
      const { nextFireTime } = await dueNow(world);

      assert.equal(await jobs.parkRecurring(ID, later(nextFireTime, -HOUR), 'stale'), false);
      assert.equal(await jobs.parkRecurring('unknown', nextFireTime, 'stale'), false);

      const stored = await storedDefinition(world, ID);
      assertEqual([stored.nextFireTime, stored.parkedReason], [nextFireTime, null]);
    });

    fact('ends with the next upsert, even of the same expression', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);
      await jobs.parkRecurring(ID, nextFireTime, 'broken');
      const next = later(clock.now(), 2 * HOUR);

      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: next }));

      const stored = await storedDefinition(world, ID);
      assertEqual([stored.nextFireTime, stored.parkedReason], [next, null]);
    });

    fact('keeps a definition from firing', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);
      await jobs.parkRecurring(ID, nextFireTime, 'broken');
      const job = aJob(clock);

      assert.equal(await jobs.tryFireRecurring(ID, nextFireTime, later(nextFireTime, HOUR), job), false);

      assert.equal(await stateOf(world, job), null);
    });
  });

  describe('occurrences', () => {
    fact('carry the definition and the instant they were planned for', async (world) => {
      const { jobs, clock } = world;
      const { nextFireTime } = await dueNow(world);
      clock.advance(7 * SECOND);
      const job = aJob(clock, { recurringId: ID, occurrenceAt: nextFireTime });

      await jobs.tryFireRecurring(ID, nextFireTime, later(nextFireTime, HOUR), job);

      const stored = await storedJob(world, job.id);
      assertEqual(
        [stored.recurringId, stored.occurrenceAt, stored.createdAt, stored.readyAt],
        [ID, nextFireTime, clock.now(), clock.now()],
      );
    });
  });
}

type Due = RecurringDefinition & { readonly nextFireTime: Date };

/** Stores a definition whose fire time is now. */
async function dueNow({ jobs, clock }: World, fields: Partial<RecurringDefinition> = {}): Promise<Due> {
  const nextFireTime = clock.now();
  const definition = { ...aDefinition(clock, fields), nextFireTime };
  await jobs.upsertRecurring(definition);
  return definition;
}
