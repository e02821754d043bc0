import assert from 'node:assert/strict';
import { JOB_STATES } from '../model/job-state';
import { later, MINUTE, SECOND } from '../model/time';
import { INSTANCE_STATES } from '../model/workflow-instance';
import { aDefinition, aJob, anId, aScheduledJob, claimBy, failed, someJobs } from './builders';
import { assertEqual, assertSameJob } from './expectations';
import { applied, claimed, detailsOf, started, storedJob, take } from './steps';
import type { FactSuite } from './world';

/** A job in full, and counts of everything. */
export function monitoringFacts({ describe, fact }: FactSuite): void {
  describe('the details of a job', () => {
    fact('are not to be had of an unknown one', async ({ monitoring, clock }) => {
      assert.equal(await monitoring.getJobDetails(anId(clock)), null);
    });

    fact('are all that is stored of it, with its attempts', async (world) => {
      const { jobs, clock } = world;
      const job = aScheduledJob(clock, later(clock.now(), MINUTE), {
        queue: 'mail',
        handler: 'EmailSender.send',
        args: '["order-1",{"cc":null}]',
        tenantId: 'acme',
        idempotencyKey: 'K',
        requeuedFrom: anId(clock),
        recurringId: 'nightly',
        traceParent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      });
      await jobs.enqueue([job]);

      const { attempts, ...record } = await detailsOf(world, job.id);

      assertSameJob(record, job);
      assertEqual(attempts, []);
    });

    fact('are what the job is now', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await applied(jobs, failed(job, later(clock.now(), MINUTE)));

      const { attempts, ...record } = await detailsOf(world, job.id);

      assertSameJob(record, await storedJob(world, job.id));
      assert.equal(attempts.length, 1);
    });
  });

  describe('statistics', () => {
    fact('of an empty store name every state, with zero', async ({ monitoring }) => {
      const statistics = await monitoring.getStatistics();

      assertEqual(
        { ...statistics, enqueuedByQueue: { ...statistics.enqueuedByQueue } },
        {
          jobsByState: zeroes(JOB_STATES),
          enqueuedByQueue: {},
          instancesByState: zeroes(INSTANCE_STATES),
          recurringDefinitions: 0,
          overdueRecurringDefinitions: 0,
        },
      );
    });

    fact('count jobs by state, and those that wait by queue', async (world) => {
      const { jobs, monitoring, clock } = world;
      const [cancelled] = await jobs.enqueue(someJobs(3, clock));
      assert.ok(cancelled);
      await jobs.cancel(cancelled);
      await jobs.enqueue([...someJobs(2, clock, { queue: 'mail' }), aScheduledJob(clock, later(clock.now(), MINUTE))]);
      await take(jobs, claimBy('w1', { queues: ['mail'], limit: 1 }));

      const { jobsByState, enqueuedByQueue } = await monitoring.getStatistics();

      assertEqual(jobsByState, {
        ...zeroes(JOB_STATES),
        Enqueued: 3,
        Cancelled: 1,
        Processing: 1,
        Scheduled: 1,
      });
      assertEqual({ ...enqueuedByQueue }, { default: 2, mail: 1 });
    });

    fact('count instances by state', async (world) => {
      await started(world);
      await started(world, { state: 'Suspended' });
      await started(world, { state: 'Suspended' });

      const { instancesByState } = await world.monitoring.getStatistics();

      assertEqual(instancesByState, { ...zeroes(INSTANCE_STATES), Running: 1, Suspended: 2 });
    });

    fact('count one tenant, none, or all', async (world) => {
      const { jobs, monitoring, clock } = world;
      await jobs.enqueue([...someJobs(2, clock), ...someJobs(3, clock, { tenantId: 'acme' })]);
      await started(world, { tenantId: 'acme' });
      await jobs.upsertRecurring(aDefinition(clock, { id: 'a', tenantId: 'acme', nextFireTime: clock.now() }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'b' }));
      const countsOf = async (tenantId?: string | null) => {
        const statistics = await monitoring.getStatistics(tenantId);
        return [
          statistics.jobsByState.Enqueued,
          statistics.enqueuedByQueue['default'] ?? 0,
          statistics.instancesByState.Running,
          statistics.recurringDefinitions,
          statistics.overdueRecurringDefinitions,
        ];
      };

      assertEqual(await countsOf(), [5, 5, 1, 2, 1]);
      assertEqual(await countsOf(null), [2, 2, 0, 1, 0]);
      assertEqual(await countsOf('acme'), [3, 3, 1, 1, 1]);
      assertEqual(await countsOf('nobody'), [0, 0, 0, 0, 0]);
    });

    fact('count recurring definitions, and those whose time has come', async (world) => {
      const { jobs, monitoring, clock } = world;
      const now = clock.now();
      await jobs.upsertRecurring(aDefinition(clock, { id: 'due', nextFireTime: now }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'overdue', nextFireTime: later(now, -5 * MINUTE) }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'later', nextFireTime: later(now, SECOND) }));
      await jobs.upsertRecurring(aDefinition(clock, { id: 'parked', nextFireTime: now }));
      await jobs.parkRecurring('parked', now, 'broken');

      const { recurringDefinitions, overdueRecurringDefinitions } = await monitoring.getStatistics();

      assertEqual([recurringDefinitions, overdueRecurringDefinitions], [4, 2]);
    });

    fact('do not count what an ended job was', async (world) => {
      const { jobs, monitoring, clock } = world;
      const job = aJob(clock);
      await jobs.enqueue([job]);
      await jobs.cancel(job.id);
      await jobs.delete(job.id);

      assertEqual((await monitoring.getStatistics()).jobsByState, zeroes(JOB_STATES));
    });
  });
}

function zeroes<T extends string>(names: readonly T[]): Record<T, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<T, number>;
}
