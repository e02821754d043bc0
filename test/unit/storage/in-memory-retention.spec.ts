import {
  aDefinition,
  aJob,
  claimBy,
  cutoffs,
  dead,
  failed,
  someJobs,
  succeeded,
} from '../../../lib/conformance/builders';
import { applied, statesOf, take, takeOne } from '../../../lib/conformance/steps';
import { aBookmark, anInstance, aStep, changing } from '../../../lib/conformance/workflow-builders';
import { inMemoryWorld, runAll } from './in-memory-world';

const completing = changing({ update: { state: 'Completed' } });

describe('keepFinished', () => {
  it('keeps so many finished jobs, and lets the one go that ended first', async () => {
    const world = await inMemoryWorld({ keepFinished: 2 });
    const { clock, storage } = world;
    const jobs = someJobs(3, clock);
    await storage.jobs.enqueue(jobs);
    const claimed = await take(storage.jobs, claimBy('w1'));

    for (const job of claimed.toReversed()) await applied(storage.jobs, succeeded(job));

    expect(
      await statesOf(
        storage,
        jobs.map(({ id }) => id),
      ),
    ).toEqual(['Succeeded', 'Succeeded', null]);
  });

  it('lets dead and cancelled jobs go in their turn, and nothing that has not ended', async () => {
    const { clock, storage } = await inMemoryWorld({ keepFinished: 0 });
    const jobs = someJobs(5, clock);
    await storage.jobs.enqueue(jobs);
    const [first, second, third] = await take(storage.jobs, claimBy('w1', { limit: 4 }));

    await applied(storage.jobs, dead(first!), failed(second!, clock.now()), succeeded(third!));
    await storage.jobs.cancel(jobs[4]!.id);

    expect(
      await statesOf(
        storage,
        jobs.map(({ id }) => id),
      ),
    ).toEqual([null, 'Failed', null, 'Processing', null]);
  });

  it('keeps all of them for Infinity', async () => {
    const world = await inMemoryWorld({ keepFinished: Infinity });
    const jobs = someJobs(12_000, world.clock);
    await world.storage.jobs.enqueue(jobs);

    await runAll(world);

    const states = await statesOf(
      world.storage,
      jobs.map(({ id }) => id),
    );
    expect(states.filter((state) => state === 'Succeeded')).toHaveLength(12_000);
  });

  it('keeps the newest job of a recurring definition for as long as that exists', async () => {
    const { clock, storage } = await inMemoryWorld({ keepFinished: 0 });
    const definition = aDefinition(clock);
    await storage.jobs.upsertRecurring(definition);
    const [older, newer] = [aJob(clock, { recurringId: definition.id }), aJob(clock, { recurringId: definition.id })];
    const found: unknown[] = [];
    const look = async (): Promise<void> => {
      found.push(await statesOf(storage, [older.id, newer.id]));
    };

    await storage.jobs.enqueue([older]);
    await applied(storage.jobs, succeeded(await takeOne(storage.jobs, claimBy('w1'))));
    await look();
    await storage.jobs.enqueue([newer]);
    await look();
    await applied(storage.jobs, succeeded(await takeOne(storage.jobs, claimBy('w1'))));
    await look();
    await storage.jobs.removeRecurring(definition.id);
    await look();

    expect(found).toEqual([
      ['Succeeded', null],
      [null, 'Enqueued'],
      [null, 'Succeeded'],
      [null, null],
    ]);
  });

  it('keeps the jobs of a workflow while it lives, and lets it go with all of its jobs and waits', async () => {
    const world = await inMemoryWorld({ keepFinished: 1 });
    const { clock, storage } = world;
    const { workflows } = storage;
    const instance = anInstance(clock);
    const steps = [aStep(clock, instance), aStep(clock, instance), aStep(clock, instance)];
    await workflows.createInstance({ instance, jobs: steps, bookmarks: [aBookmark(clock, instance)] });
    await runAll(world);
    const whileRunning = await statesOf(
      storage,
      steps.map(({ id }) => id),
    );

    await workflows.advanceInstance(instance.id, completing);
    const whenCompleted = await workflows.getInstance(instance.id);
    clock.advance('1s');
    await storage.jobs.enqueue([aJob(clock)]);
    await runAll(world);

    expect(whileRunning).toEqual(['Succeeded', 'Succeeded', 'Succeeded']);
    // Alone it exceeds the limit, and is not gone with its last step for that.
    expect(whenCompleted?.state).toBe('Completed');
    expect(await workflows.getInstance(instance.id)).toBeNull();
    expect(await workflows.getBookmarks(instance.id)).toEqual([]);
    expect(
      await statesOf(
        storage,
        steps.map(({ id }) => id),
      ),
    ).toEqual([null, null, null]);
    expect((await storage.monitoring.getStatistics()).jobsByState.Succeeded).toBe(1);
  });

  it('keeps an ended workflow while one of its jobs is open, and a reopened one', async () => {
    const world = await inMemoryWorld({ keepFinished: 0 });
    const { clock, storage } = world;
    const { workflows } = storage;
    const [running, reopened] = [anInstance(clock), anInstance(clock)];
    await workflows.createInstance({ instance: running, jobs: [aStep(clock, running)], bookmarks: [] });
    await workflows.createInstance({ instance: reopened, jobs: [], bookmarks: [] });
    await workflows.advanceInstance(running.id, completing);
    await workflows.advanceInstance(reopened.id, changing({ update: { state: 'Failed' } }));
    await workflows.advanceInstance(reopened.id, changing({ update: { state: 'Running' } }));
    const existing = async (): Promise<boolean[]> =>
      Promise.all([running, reopened].map(async ({ id }) => (await workflows.getInstance(id)) !== null));

    await storage.jobs.enqueue([aJob(clock, { queue: 'other' })]);
    await applied(storage.jobs, succeeded(await takeOne(storage.jobs, claimBy('w1', { queues: ['other'] }))));
    const whileOpen = await existing();
    await runAll(world);
    const another = anInstance(clock);
    await workflows.createInstance({ instance: another, jobs: [], bookmarks: [] });
    await workflows.advanceInstance(another.id, completing);

    expect(whileOpen).toEqual([true, true]);
    expect(await existing()).toEqual([false, true]);
  });

  it('leaves nothing behind of thousands of jobs', async () => {
    const world = await inMemoryWorld({ keepFinished: 100 });
    const { clock, storage } = world;

    for (let batch = 0; batch < 20; batch++) {
      const fields = { queue: 'default', idempotencyKey: null, tenantId: `tenant-${batch}` };
      await storage.jobs.enqueue(
        Array.from({ length: 1000 }, (_, n) => aJob(clock, { ...fields, idempotencyKey: `k${n}` })),
      );
      clock.advance('1s');
      await runAll(world);
    }

    const { jobsByState } = await storage.monitoring.getStatistics();
    expect(jobsByState).toMatchObject({ Enqueued: 0, Processing: 0, Succeeded: 100 });
    clock.advance('1s');
    expect(await storage.jobs.prune(cutoffs({ succeeded: clock.now() }), 1000)).toBe(100);
  });
});
