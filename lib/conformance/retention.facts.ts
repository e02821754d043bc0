import assert from 'node:assert/strict';
import type { JobTransition } from '../model/job-transition';
import { DAY, HOUR, later } from '../model/time';
import type { InstanceState } from '../model/workflow-instance';
import type { RetentionCutoffs } from '../storage/job-storage';
import {
  aContinuation,
  aDefinition,
  aJob,
  aProbe,
  aScheduledJob,
  claimBy,
  type Claimed,
  cutoffs,
  dead,
  failed,
  stopped,
  succeeded,
} from './builders';
import { assertEqual, rejectsWith } from './expectations';
import {
  applied,
  backingOff,
  claimed,
  claimedJobs,
  ended,
  inParallel,
  started,
  stateOf,
  statesOf,
  take,
  takeOne,
} from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, aStep, changing } from './workflow-builders';

const LIMIT = 1000;

const KINDS: Record<'succeeded' | 'cancelled' | 'dead', (job: Claimed) => JobTransition> = {
  succeeded: (job) => succeeded(job),
  cancelled: (job) => stopped(job),
  dead: (job) => dead(job),
};

/** What has ended goes when its time is over: no sooner, in small bites, and never what something alive still needs. */
export function retentionFacts({ describe, fact }: FactSuite): void {
  describe('pruning', () => {
    for (const [kind, end] of Object.entries(KINDS)) {
      fact(`deletes ${kind} jobs that ended before their cutoff, and keeps the others`, async (world) => {
        const { jobs, clock } = world;
        const old = await ended(world, end);
        clock.advance(HOUR);
        const cutoff = clock.now();
        const fresh = await ended(world, end); // exactly at the cutoff

        const pruned = await jobs.prune(cutoffs({ [kind]: cutoff }), LIMIT);

        assert.equal(pruned, 1);
        assert.equal(await stateOf(world, { id: old }), null);
        assert.notEqual(await stateOf(world, { id: fresh }), null);
      });

      fact(`keeps ${kind} jobs for ever without a cutoff`, async (world) => {
        const { jobs, clock } = world;
        const job = await ended(world, end);
        clock.advance(10_000 * DAY);
        const every = clock.now();
        const all = {
          succeeded: every,
          cancelled: every,
          dead: every,
          completedInstances: every,
          failedInstances: every,
        };

        assert.equal(await jobs.prune({ ...all, [kind]: null }, LIMIT), 0);

        assert.notEqual(await stateOf(world, { id: job }), null);
      });
    }

    fact('never deletes a job that has not ended', async (world) => {
      const { jobs, clock } = world;
      const failing = await backingOff(world, later(clock.now(), 1000 * DAY));
      const running = await claimed(world);
      const waiting = [
        aJob(clock),
        aScheduledJob(clock, later(clock.now(), 1000 * DAY)),
        aContinuation(clock, running.id),
      ];
      await jobs.enqueue(waiting);
      clock.advance(100 * DAY);

      assert.equal(await jobs.prune(everything(world), LIMIT), 0);

      const states = await statesOf(
        world,
        [failing, running, ...waiting].map(({ id }) => id),
      );
      assertEqual(states, ['Failed', 'Processing', 'Enqueued', 'Scheduled', 'Awaiting']);
    });

    fact('goes in bites, and says zero when nothing is left', async (world) => {
      const { jobs, clock } = world;
      await applied(jobs, ...(await claimedJobs(world, 30)).map((job) => succeeded(job)));
      clock.advance(DAY);

      const bites = [];
      for (let bite = -1; bite !== 0; bites.push(bite)) bite = await jobs.prune(everything(world), 10);

      assert.ok(bites.length >= 3, `30 jobs went in ${bites.length - 1} bites of about 10`);
      assert.equal(
        bites.reduce((sum, bite) => sum + bite),
        30,
      );
      assertEqual((await world.monitoring.queryJobs({})).items, []);
    });

    fact('by four nodes at once deletes each job once', async (world) => {
      const { jobs, clock } = world;
      const nodes = await world.nodes();
      await applied(jobs, ...(await claimedJobs(world, 40)).map((job) => succeeded(job)));
      clock.advance(DAY);

      const counts = await inParallel(4, (n) => pruneAll(nodes[n % 2 === 0 ? 0 : 1].jobs, everything(world)));
      // A bite may find nothing because others held it; whatever that left is still there.
      counts.push(await pruneAll(jobs, everything(world)));

      assert.equal(
        counts.reduce((sum, count) => sum + count),
        40,
      );
    });

    fact('takes a job’s history along', async (world) => {
      const { jobs, monitoring, clock } = world;
      const job = await claimed(world);
      await applied(jobs, failed(job, clock.now()));
      await jobs.activateDue(1);
      await applied(jobs, succeeded(await takeOne(jobs, claimBy('w1'))));
      clock.advance(DAY);

      await jobs.prune(everything(world), LIMIT);

      assert.equal(await monitoring.getJobDetails(job.id), null);
    });

    fact('leaves a continuation of what it deleted without a parent to name', async (world) => {
      const { jobs, clock } = world;
      const parent = await ended(world, succeeded);
      clock.advance(DAY);
      await jobs.prune(everything(world), LIMIT);

      await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([aContinuation(clock, parent)]));
    });

    fact('keeps the newest job of a recurring definition that exists, and no older one', async (world) => {
      const { jobs, clock } = world;
      await jobs.upsertRecurring(aDefinition(clock));
      const older = await ended(world, succeeded, { recurringId: 'nightly-report' });
      clock.advance(HOUR);
      const newest = await ended(world, succeeded, { recurringId: 'nightly-report' });
      const orphan = await ended(world, succeeded, { recurringId: 'removed-long-ago' });
      clock.advance(DAY);

      await pruneAll(jobs, everything(world));
      assertEqual(await statesOf(world, [older, newest, orphan]), [null, 'Succeeded', null]);

      await jobs.removeRecurring('nightly-report');
      await pruneAll(jobs, everything(world));
      assert.equal(await stateOf(world, { id: newest }), null);
    });

    fact('keeps the jobs of an instance as long as the instance', async (world) => {
      const { jobs, workflows, clock } = world;
      const instance = await started(world, {}, (made) => ({ jobs: [aStep(clock, made)] }));
      const step = await takeOne(jobs, claimBy('w1'));
      await applied(jobs, succeeded(step));
      clock.advance(100 * DAY);

      assert.equal(await jobs.prune(everything(world), LIMIT), 0);
      await workflows.advanceInstance(instance.id, changing({ update: { state: 'Completed' } }));
      assert.equal(await jobs.prune({ ...everything(world), completedInstances: clock.now() }, LIMIT), 0);

      assert.equal(await stateOf(world, step), 'Succeeded');
      assert.notEqual(await workflows.getInstance(instance.id), null);
    });

    for (const state of ['Completed', 'Compensated', 'Cancelled', 'Failed'] as const) {
      fact(`deletes a ${state} instance that ended before its cutoff, with its jobs and waits`, async (world) => {
        const { jobs, workflows, clock } = world;
        const { id, step } = await endedInstance(world, state);
        clock.advance(HOUR);
        const fresh = await endedInstance(world, state);
        const kind = state === 'Failed' ? 'failedInstances' : 'completedInstances';

        await pruneAll(jobs, cutoffs({ [kind]: clock.now() }));

        assert.equal(await workflows.getInstance(id), null);
        assert.equal(await stateOf(world, { id: step }), null);
        assertEqual(await workflows.getBookmarks(id), []);
        assert.notEqual(await workflows.getInstance(fresh.id), null);
        assert.equal(await stateOf(world, { id: fresh.step }), 'Succeeded');
      });
    }

    fact('waits for the last step of an instance that has ended', async (world) => {
      const { jobs, workflows, clock } = world;
      const instance = await started(world, {}, (made) => ({ jobs: [aStep(clock, made)] }));
      const step = await takeOne(jobs, claimBy('w1'));
      await workflows.advanceInstance(instance.id, changing({ update: { state: 'Cancelled' } }));
      clock.advance(DAY);

      assert.equal(await jobs.prune(everything(world), LIMIT), 0);
      assert.equal(await stateOf(world, step), 'Processing');

      await applied(jobs, stopped(step));
      clock.advance(DAY);
      await pruneAll(jobs, everything(world));
      assert.equal(await workflows.getInstance(instance.id), null);
    });

    fact('keeps failed instances for ever without a cutoff, and others by theirs', async (world) => {
      const { jobs, workflows, clock } = world;
      const failedOne = await endedInstance(world, 'Failed');
      const completed = await endedInstance(world, 'Completed');
      clock.advance(1000 * DAY);

      await pruneAll(jobs, { ...everything(world), failedInstances: null });
      assert.notEqual(await workflows.getInstance(failedOne.id), null);
      assert.equal(await stateOf(world, { id: failedOne.step }), 'Succeeded');
      assert.equal(await workflows.getInstance(completed.id), null);
    });

    fact('counts an instance that was reopened as alive', async (world) => {
      const { jobs, workflows, clock } = world;
      const { id, step } = await endedInstance(world, 'Failed');
      await workflows.advanceInstance(id, changing({ update: { state: 'Running' } }));
      clock.advance(1000 * DAY);

      assert.equal(await jobs.prune(everything(world), LIMIT), 0);

      assert.notEqual(await workflows.getInstance(id), null);
      assert.equal(await stateOf(world, { id: step }), 'Succeeded');
    });

    fact('is over for a probe too once it has deleted all that it may', async (world) => {
      const { jobs, clock } = world;
      await jobs.upsertRecurring(aDefinition(clock, { nextFireTime: later(clock.now(), 9000 * DAY) }));
      await ended(world, succeeded, { recurringId: 'nightly-report' });
      await started(world, {}, (made) => ({ jobs: [aStep(clock, made)] }));
      await applied(jobs, succeeded(await takeOne(jobs, claimBy('w1'))));
      await ended(world, succeeded);
      clock.advance(DAY);
      assert.equal((await jobs.probe(aProbe({ retention: everything(world) }))).prunable, true);

      await pruneAll(jobs, everything(world));

      assert.equal((await jobs.probe(aProbe({ retention: everything(world) }))).prunable, false);
    });
  });
}

/** Every cutoff is now. */
function everything({ clock }: World): RetentionCutoffs {
  const now = clock.now();
  return { succeeded: now, cancelled: now, dead: now, completedInstances: now, failedInstances: now };
}

/** An instance that ends now with one step that succeeded and one wait that is left over. */
async function endedInstance(world: World, state: InstanceState): Promise<{ id: string; step: string }> {
  const { jobs, clock } = world;
  const { id } = await started(world, {}, (made) => ({
    jobs: [aStep(clock, made)],
    bookmarks: [aBookmark(clock, made)],
  }));
  const [step] = await take(jobs, claimBy('w1'));
  assert.ok(step);
  await applied(jobs, succeeded(step, { advance: changing({ update: { state } }) }));
  return { id, step: step.id };
}

async function pruneAll(jobs: World['jobs'], retention: RetentionCutoffs): Promise<number> {
  let total = 0;
  for (let count = await jobs.prune(retention, 15); count > 0; count = await jobs.prune(retention, 15)) total += count;
  return total;
}
