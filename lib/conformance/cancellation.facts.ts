import assert from 'node:assert/strict';
import type { JobRecord } from '../model/job';
import { later, MINUTE, SECOND } from '../model/time';
import {
  aContinuation,
  aJob,
  anId,
  aScheduledJob,
  claimBy,
  dead,
  failed,
  released,
  stopped,
  succeeded,
} from './builders';
import {
  applied,
  backingOff,
  claimed,
  inParallel,
  inRounds,
  settle,
  stateOf,
  statesOf,
  storedJob,
  take,
  takeOne,
} from './steps';
import { assertEqual } from './expectations';
import type { FactSuite, World } from './world';

const KEY = { idempotencyKey: 'K' } as const;
const LEASE = 5 * MINUTE;

type Waiting = (world: World) => Promise<Pick<JobRecord, 'id'>>;

/** One job in each state that a worker has not begun with, holding key K. */
const BEFORE_ITS_RUN: Record<'Scheduled' | 'Enqueued' | 'Failed' | 'Awaiting', Waiting> = {
  Scheduled: ({ jobs, clock }) => stored(jobs, aScheduledJob(clock, later(clock.now(), MINUTE), KEY)),
  Enqueued: ({ jobs, clock }) => stored(jobs, aJob(clock, KEY)),
  Failed: (world) => backingOff(world, later(world.clock.now(), MINUTE), KEY),
  Awaiting: async ({ jobs, clock }) => {
    const parent = await stored(jobs, aJob(clock, { queue: 'parents' }));
    return stored(jobs, aContinuation(clock, parent.id, KEY));
  },
};

/** Before it runs a job is cancelled at once; while it runs it is asked to stop, and its worker may finish first. */
export function cancellationFacts({ describe, fact }: FactSuite): void {
  describe('cancelling', () => {
    for (const [state, make] of Object.entries(BEFORE_ITS_RUN)) {
      fact(`ends a job that is ${state}, with its continuations, and frees its key`, async (world) => {
        const { jobs, clock } = world;
        const { id } = await make(world);
        const child = await stored(jobs, aContinuation(clock, id));
        clock.advance(SECOND);

        assert.equal(await jobs.cancel(id), true);

        const { state: now, finishedAt, dueAt, workerId, leaseUntil, idempotencyKey } = await storedJob(world, id);
        assertEqual([now, finishedAt], ['Cancelled', clock.now()]);
        assertEqual([dueAt, workerId, leaseUntil, idempotencyKey], [null, null, null, 'K']);
        assert.equal(await stateOf(world, child), 'Cancelled');
        const next = aJob(clock, KEY);
        assertEqual(await jobs.enqueue([next]), [next.id]);
      });
    }

    fact('ends continuations all the way down, and no job that runs or can run', async (world) => {
      const { jobs, clock } = world;
      const root = await stored(jobs, aJob(clock, { queue: 'roots' }));
      const child = await stored(jobs, aContinuation(clock, root.id));
      const grandchild = await stored(jobs, aContinuation(clock, child.id));
      const bystander = await stored(jobs, aJob(clock));

      await jobs.cancel(root.id);

      assertEqual(
        await statesOf(
          world,
          [root, child, grandchild, bystander].map(({ id }) => id),
        ),
        ['Cancelled', 'Cancelled', 'Cancelled', 'Enqueued'],
      );
    });

    fact('of a continuation leaves its parent alone', async (world) => {
      const { jobs, clock } = world;
      const parent = await stored(jobs, aJob(clock));
      const child = await stored(jobs, aContinuation(clock, parent.id));

      await jobs.cancel(child.id);

      assertEqual(await statesOf(world, [parent.id, child.id]), ['Enqueued', 'Cancelled']);
    });

    fact('only asks a running job to stop, however often it is repeated', async (world) => {
      const { jobs } = world;
      const job = await claimed(world);
      const before = await storedJob(world, job.id);

      assert.equal(await jobs.cancel(job.id), true);
      assert.equal(await jobs.cancel(job.id), true);

      assertEqual(await storedJob(world, job.id), { ...before, cancelRequested: true });
    });

    fact('of a running job keeps it from nobody who owns it: its success stands', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await jobs.cancel(job.id);
      clock.advance(4 * MINUTE);
      assertEqual((await jobs.renew('w1', [job], LEASE)).answers, ['cancelRequested']);
      clock.advance(2 * MINUTE);
      assertEqual(await jobs.claim(claimBy('w2')), []);

      await applied(jobs, succeeded(job));

      assert.equal(await stateOf(world, job), 'Succeeded');
    });

    fact('of a running job leaves its continuations to its outcome', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      const child = await stored(jobs, aContinuation(clock, job.id));
      await jobs.cancel(job.id);
      assert.equal(await stateOf(world, child), 'Awaiting');

      await applied(jobs, stopped(job));

      assert.equal(await stateOf(world, child), 'Cancelled');
    });

    fact('is remembered through a release', async (world) => {
      const { jobs } = world;
      const job = await claimed(world);
      await jobs.cancel(job.id);
      await applied(jobs, released(job));

      assert.equal((await takeOne(jobs, claimBy('w2'))).cancelRequested, true);
    });

    fact('is remembered through a takeover', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await jobs.cancel(job.id);
      clock.advance(LEASE + MINUTE);

      assert.equal((await takeOne(jobs, claimBy('w2'))).cancelRequested, true);
    });

    fact('is remembered through a failure', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await jobs.cancel(job.id);
      await applied(jobs, failed(job, clock.now()));
      await jobs.activateDue(10);

      assert.equal((await takeOne(jobs, claimBy('w2'))).cancelRequested, true);
    });

    fact('and success at one moment leave the success', async (world) => {
      const [one, other] = await world.nodes();
      await inRounds(20, async () => {
        const job = await claimed(world);

        const [result] = await Promise.all([settle(one.jobs, succeeded(job)), other.jobs.cancel(job.id)]);

        assert.equal(result.outcome, 'applied');
        assert.equal(await stateOf(world, job), 'Succeeded');
      });
    });

    fact(
      'and a claim at one moment leave a job that is either cancelled or running with the request',
      async (world) => {
        const [one, other] = await world.nodes();
        await inRounds(20, async (round) => {
          const queue = `round-${round}`;
          const job = await stored(world.jobs, aJob(world.clock, { queue }));

          const [cancelled, claims] = await Promise.all([
            one.jobs.cancel(job.id),
            take(other.jobs, claimBy('w1', { queues: [queue] })),
          ]);

          assert.equal(cancelled, true);
          const { state, cancelRequested } = await storedJob(world, job.id);
          assertEqual([state, cancelRequested], claims.length === 1 ? ['Processing', true] : ['Cancelled', false]);
        });
      },
    );

    fact('and activation at one moment cancel the job or let its worker go on', async (world) => {
      const { jobs, clock } = world;
      const [one, other] = await world.nodes();
      await inRounds(20, async (round) => {
        const queue = `round-${round}`;
        const { id } = await backingOff(world, clock.now(), { queue });

        const [cancelled, claims] = await Promise.all([
          one.jobs.cancel(id),
          other.jobs.activateDue(10).then(() => take(other.jobs, claimBy('w2', { queues: [queue] }))),
        ]);

        assert.equal(cancelled, true);
        const [claim] = claims;
        const { state, workerId } = await storedJob(world, id);
        assertEqual([state, workerId], claim ? ['Processing', 'w2'] : ['Cancelled', null]);
        if (claim) await applied(jobs, succeeded(claim));
      });
    });

    fact('by eight callers at once succeeds for one', async (world) => {
      const nodes = await world.nodes();
      const job = await stored(world.jobs, aJob(world.clock));

      const answers = await inParallel(8, (n) => nodes[n % 2 === 0 ? 0 : 1].jobs.cancel(job.id));

      assertEqual(answers.filter(Boolean), [true]);
    });

    fact('answers false for a job that has ended, and changes nothing of it', async (world) => {
      const { jobs } = world;
      for (const end of [succeeded, dead, stopped]) {
        const job = await claimed(world);
        await applied(jobs, end(job));
        const before = await storedJob(world, job.id);

        assert.equal(await jobs.cancel(job.id), false);

        assertEqual(await storedJob(world, job.id), before);
      }
    });

    fact('answers false for an unknown job', async ({ jobs, clock }) => {
      assert.equal(await jobs.cancel(anId(clock)), false);
    });
  });
}

async function stored(jobs: World['jobs'], job: JobRecord): Promise<JobRecord> {
  await jobs.enqueue([job]);
  return job;
}
