import type { Advance, JobRecord } from 'nestjs-millrace/storage';
import { aDefinition, aJob, anId, aScheduledJob, claimBy, failed } from '../../../lib/conformance/builders';
import { applied, takeOne } from '../../../lib/conformance/steps';
import { aBookmark, anInstance, changeOf } from '../../../lib/conformance/workflow-builders';
import { inMemoryWorld } from './in-memory-world';

/** Changes everything that can be changed in a record: its fields, its dates, its retry policy, its lists. */
function spoil(record: object): void {
  for (const [field, value] of Object.entries(record)) {
    if (value instanceof Date) value.setTime(0);
    else if (Array.isArray(value)) value.push('spoilt');
    else if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) spoil(value);
    Object.assign(record, { [field]: 'spoilt' });
  }
}

const spoiling: Advance = (instance) => {
  spoil(instance);
  return null;
};

/** A deep copy, to compare with what is stored. */
function snapshot<T>(record: T): T {
  return structuredClone(record);
}

describe('what the in-memory storage holds', () => {
  it('does not change with a job that the caller goes on to change', async () => {
    const { clock, storage } = await inMemoryWorld();
    const retry = { kind: 'Fixed', maxAttempts: 2, baseDelay: 1, maxDelay: 1 } as const;
    const job = aScheduledJob(clock, new Date(clock.now()), { occurrenceAt: clock.now(), retry });
    const before = snapshot(job);
    await storage.jobs.enqueue([job]);

    spoil(job);
    spoil(retry);

    expect(await storage.jobs.getJob(before.id)).toEqual(before);
  });

  it('does not change with a job that it gave out', async () => {
    const { clock, storage } = await inMemoryWorld();
    const retry = { kind: 'Fixed', maxAttempts: 2, baseDelay: 1, maxDelay: 1 } as const;
    const job = aJob(clock, { occurrenceAt: clock.now(), retry });
    await storage.jobs.enqueue([job]);
    const claimed = await takeOne(storage.jobs, claimBy('w1'));
    await applied(storage.jobs, failed(claimed, clock.now()));
    const stored = snapshot(await storage.monitoring.getJobDetails(job.id));
    const given = [
      claimed,
      await storage.jobs.getJob(job.id),
      await storage.monitoring.getJobDetails(job.id),
      ...(await storage.monitoring.queryJobs({})).items,
    ];

    for (const record of given) spoil(record ?? {});

    expect(await storage.monitoring.getJobDetails(job.id)).toEqual(stored);
  });

  it('does not change with the due time of a transition', async () => {
    const { clock, storage } = await inMemoryWorld();
    await storage.jobs.enqueue([aJob(clock)]);
    const claimed = await takeOne(storage.jobs, claimBy('w1'));
    const dueAt = new Date(clock.now().getTime() + 1000);
    await applied(storage.jobs, failed(claimed, dueAt));

    dueAt.setTime(0);

    expect((await storage.jobs.getJob(claimed.id))?.dueAt).toEqual(new Date(clock.now().getTime() + 1000));
  });

  it('does not change with instances and waits, whoever holds them', async () => {
    const { clock, storage } = await inMemoryWorld();
    const { workflows } = storage;
    const instance = anInstance(clock);
    const bookmark = aBookmark(clock, instance, { expiresAt: new Date(clock.now().getTime() + 1000) });
    const [storedInstance, storedBookmark] = [snapshot(instance), snapshot(bookmark)];
    await workflows.createInstance({ instance, jobs: [], bookmarks: [bookmark] });
    await workflows.advanceInstance(storedInstance.id, spoiling);
    const resume = (waiting: object): JobRecord => {
      spoil(waiting);
      return aJob(clock);
    };
    for (const record of [
      instance,
      bookmark,
      await workflows.getInstance(storedInstance.id),
      ...(await workflows.getBookmarks(storedInstance.id)),
      await workflows.peekBookmark('approval', 'order-1', null),
    ]) {
      spoil(record ?? {});
    }

    expect(await workflows.getInstance(storedInstance.id)).toEqual(storedInstance);
    expect(await workflows.getBookmarks(storedInstance.id)).toEqual([storedBookmark]);
    clock.advance('1s');
    expect(await workflows.expireBookmarks(1, resume)).toBe(1);
  });

  it('takes no more of an advance than an instance may change', async () => {
    const { clock, storage } = await inMemoryWorld();
    const instance = anInstance(clock);
    await storage.workflows.createInstance({ instance, jobs: [], bookmarks: [] });

    await storage.workflows.advanceInstance(instance.id, (current) => {
      const foreign = { id: anId(clock), tenantId: 'other', revision: 7 };
      const change = changeOf(current);
      return { ...change, instance: { ...change.instance, ...foreign } };
    });

    expect(await storage.workflows.getInstance(instance.id)).toEqual({ ...instance, revision: 2 });
  });

  it('does not change with definitions and nodes, whoever holds them', async () => {
    const { clock, storage } = await inMemoryWorld();
    const { jobs } = storage;
    const definition = aDefinition(clock, { nextFireTime: clock.now() });
    const now = clock.now();
    const node = {
      id: 'node-1',
      host: 'h',
      queues: ['default'],
      maxParallelism: 1,
      running: 0,
      version: '1',
      startedAt: now,
      heartbeatAt: now,
    };
    const [storedDefinition, storedNode] = [snapshot(definition), snapshot(node)];
    await jobs.upsertRecurring(definition);
    await jobs.recordNode(node);

    for (const record of [
      definition,
      node,
      await jobs.getRecurring(storedDefinition.id),
      ...(await jobs.getDueRecurring(1)),
      ...(await jobs.getNodes()),
      ...(await storage.monitoring.queryRecurring({})).items,
    ]) {
      spoil(record ?? {});
    }

    expect(await jobs.getRecurring(storedDefinition.id)).toEqual(storedDefinition);
    expect(await jobs.getNodes()).toEqual([storedNode]);
  });

  it('refuses a date that is none', async () => {
    const { clock, storage } = await inMemoryWorld();
    const job = aJob(clock, { occurrenceAt: new Date(Number.NaN) });

    await expect(storage.jobs.enqueue([aJob(clock), job])).rejects.toThrow('occurrenceAt is an invalid date');

    expect((await storage.monitoring.queryJobs({})).items).toEqual([]);
  });
});
