import assert from 'node:assert/strict';
import { DAY, HOUR, later, MINUTE } from '../model/time';
import type { Probe } from '../storage/job-storage';
import { aContinuation, aDefinition, aJob, aProbe, aScheduledJob, cutoffs, failed, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, aSuspect, claimed, started } from './steps';
import type { FactSuite, World } from './world';
import { aBookmark } from './workflow-builders';

type Flag = Exclude<keyof Probe, 'pausedQueues' | 'databaseTime'>;
const FLAGS: readonly Flag[] = [
  'due',
  'expired',
  'claimable',
  'suspects',
  'recurringDue',
  'waitsExpired',
  'prunable',
  'schemaTooNew',
];

/** One read tells an idle node whether there is anything to do. */
export function probeFacts({ describe, fact }: FactSuite): void {
  describe('a probe', () => {
    fact('of an empty store finds nothing', async (world) => {
      assertEqual(await flagsOf(world), []);
      assertEqual((await world.jobs.probe(aProbe())).pausedQueues, []);
    });

    fact('finds what can be claimed, in the queues it names', async (world) => {
      await world.jobs.enqueue([aJob(world.clock)]);

      assertEqual(await flagsOf(world), ['claimable']);
      assertEqual(await flagsOf(world, { queues: ['other'] }), []);
      assertEqual(await flagsOf(world, { queues: [] }), []);
    });

    fact('does not call a paused queue’s jobs claimable, and names all paused queues', async (world) => {
      const { jobs, clock } = world;
      await jobs.enqueue([aJob(clock)]);
      await jobs.setQueuePaused('default', true);
      await jobs.setQueuePaused('elsewhere', true);

      const probe = await jobs.probe(aProbe());

      assert.equal(probe.claimable, false);
      assertEqual(probe.pausedQueues.toSorted(), ['default', 'elsewhere']);
    });

    fact('finds nothing to do for what runs, waits for a parent or is due later', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await jobs.enqueue([aContinuation(clock, parent.id), aScheduledJob(clock, later(clock.now(), MINUTE))]);
      await jobs.upsertRecurring(aDefinition(clock));

      assertEqual(await flagsOf(world), []);
    });

    fact('finds a Scheduled job that is due', async (world) => {
      const { jobs, clock } = world;
      await jobs.enqueue([aScheduledJob(clock, later(clock.now(), MINUTE))]);
      clock.advance(MINUTE);

      assertEqual(await flagsOf(world), ['due']);
    });

    fact('finds a Failed job that is due', async (world) => {
      const { jobs, clock } = world;
      await applied(jobs, failed(await claimed(world), later(clock.now(), MINUTE)));
      assertEqual(await flagsOf(world), []);
      clock.advance(MINUTE);

      assertEqual(await flagsOf(world), ['due']);
    });

    fact('finds a lease that has expired, in the queues it names', async (world) => {
      await claimed(world);
      world.clock.advance(5 * MINUTE);

      assertEqual(await flagsOf(world), ['expired']);
      assertEqual(await flagsOf(world, { queues: ['other'] }), []);
    });

    fact('tells suspects from what can be claimed without asking for them', async (world) => {
      await aSuspect(world);

      assertEqual(await flagsOf(world), ['suspects']);
      assertEqual(await flagsOf(world, { queues: ['other'] }), []);
    });

    fact('finds a recurring definition that is due', async (world) => {
      const { jobs, clock } = world;
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: later(clock.now(), HOUR) }));
      clock.advance(HOUR);

      assertEqual(await flagsOf(world), ['recurringDue']);
    });

    fact('does not find one that is parked', async (world) => {
      const { jobs, clock } = world;
      const nextFireTime = clock.now();
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime }));
      await jobs.parkRecurring('nightly-report', nextFireTime, 'broken');

      assertEqual(await flagsOf(world), []);
    });

    fact('finds a wait that has expired', async (world) => {
      const { clock } = world;
      const expiresAt = later(clock.now(), HOUR);
      await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { expiresAt }), aBookmark(clock, made)],
      }));
      assertEqual(await flagsOf(world), []);
      clock.advance(HOUR);

      assertEqual(await flagsOf(world), ['waitsExpired']);
    });

    fact('finds what has passed its retention, and nothing when it is kept for ever', async (world) => {
      const { jobs, clock } = world;
      await applied(jobs, succeeded(await claimed(world)));
      const retention = cutoffs({ succeeded: later(clock.now(), DAY) });

      assertEqual(await flagsOf(world, { retention }), ['prunable']);
      assertEqual(await flagsOf(world, { retention: cutoffs({ dead: later(clock.now(), DAY) }) }), []);
      assertEqual(await flagsOf(world), []);
    });

    fact(
      'reads the clock that the store was given, and shows the database’s own beside it if there is one',
      async (world) => {
        const { databaseTime } = await world.jobs.probe(aProbe());

        assert.ok(databaseTime === null || databaseTime instanceof Date);
      },
    );
  });

  describe('the short check between probes', () => {
    fact('finds what can be claimed in the queues it names', async (world) => {
      const { jobs, clock } = world;
      assert.equal(await jobs.hasClaimable(['default']), false);
      await jobs.enqueue([aJob(clock)]);

      assert.equal(await jobs.hasClaimable(['default']), true);
      assert.equal(await jobs.hasClaimable(['other', 'default']), true);
      assert.equal(await jobs.hasClaimable(['other']), false);
      assert.equal(await jobs.hasClaimable([]), false);
    });

    fact('finds neither suspects, nor what runs, nor what a paused queue holds', async (world) => {
      const { jobs, clock } = world;
      await aSuspect(world, { queue: 'suspects' });
      await claimed(world, { queue: 'running' });
      await jobs.enqueue([aJob(clock, { queue: 'paused' })]);
      await jobs.setQueuePaused('paused', true);

      assert.equal(await jobs.hasClaimable(['suspects', 'running', 'paused']), false);
    });
  });
}

/** The names of the flags that are up. */
async function flagsOf({ jobs }: World, request: Parameters<typeof aProbe>[0] = {}): Promise<Flag[]> {
  const probe = await jobs.probe(aProbe(request));
  return FLAGS.filter((flag) => probe[flag]);
}
