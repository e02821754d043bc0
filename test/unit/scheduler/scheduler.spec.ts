import { DAY, type IJobStorage, MINUTE, SECOND } from 'nestjs-millrace/storage';
import { cpuTime } from '../../support/cpu-time';
import { aDefinition, aJob, aScheduler, aStore, occurrences } from './a-scheduler';

const at = (text: string): Date => new Date(text);

describe('SchedulerService: due jobs', () => {
  it('activates everything that is due, batch after batch', async () => {
    const store = await aStore('2026-03-01T00:00:00.000Z');
    const { scheduler } = aScheduler(store, { activationBatchSize: 2 });
    const dueAt = at('2026-03-01T00:00:05.000Z');
    const jobs = Array.from({ length: 5 }, () => aJob(store.clock, { state: 'Scheduled', dueAt }));
    await store.storage.jobs.enqueue(jobs);

    expect(await scheduler.runPass()).toBe(0);
    store.clock.advance(5 * SECOND);
    expect(await scheduler.runPass()).toBe(5);
  });

  it('wakes the worker of its node when something became claimable, and else lets it sleep', async () => {
    const store = await aStore('2026-03-01T00:00:00.000Z');
    const { scheduler, work } = aScheduler(store);
    await store.storage.jobs.enqueue([
      aJob(store.clock, { state: 'Scheduled', dueAt: at('2026-03-01T00:00:00.000Z') }),
    ]);

    await scheduler.runPass();
    expect(work.take()).toBe(true);
    await scheduler.runPass();
    expect(work.take()).toBe(false);
  });
});

describe('SchedulerService: recurring definitions', () => {
  it('fires an occurrence as a job that carries its planned instant and all that the definition says', async () => {
    const store = await aStore('2026-03-01T03:00:00.250Z');
    const { scheduler } = aScheduler(store);
    const definition = aDefinition({
      nextFireTime: at('2026-03-01T03:00:00.000Z'),
      queue: 'reports',
      priority: 7,
      args: '["march"]',
      argTypes: '[]',
      tenantId: 'acme',
      timeout: 5000,
    });
    await store.storage.jobs.upsertRecurring(definition);

    await scheduler.runPass();

    const [job] = await occurrences(store.storage);
    const { queue, priority, handler, args, argTypes, retry, timeout, tenantId } = definition;
    expect(job).toMatchObject({ queue, priority, handler, args, argTypes, retry, timeout, tenantId });
    expect(job).toMatchObject({
      state: 'Enqueued',
      recurringId: 'nightly-report',
      occurrenceAt: at('2026-03-01T03:00:00.000Z'),
      createdAt: at('2026-03-01T03:00:00.250Z'),
      idempotencyKey: null,
    });
    expect(await store.storage.jobs.getRecurring('nightly-report')).toMatchObject({
      lastFireTime: at('2026-03-01T03:00:00.000Z'),
      nextFireTime: at('2026-03-02T03:00:00.000Z'),
    });
  });

  it('fires nothing before the planned instant, and once at it', async () => {
    const store = await aStore('2026-03-01T08:44:59.990Z');
    const { scheduler } = aScheduler(store);
    await store.storage.jobs.upsertRecurring(
      aDefinition({ cron: '45 8 * * *', nextFireTime: at('2026-03-01T08:45:00.000Z') }),
    );

    expect(await scheduler.runPass()).toBe(0);
    store.clock.advance(11);
    expect(await scheduler.runPass()).toBe(1);
    expect(await scheduler.runPass()).toBe(0);
  });

  it('fires no occurrence twice when the clock is set back', async () => {
    const store = await aStore('2026-03-01T10:00:00.000Z');
    const { scheduler } = aScheduler(store);
    await store.storage.jobs.upsertRecurring(
      aDefinition({ cron: '0 * * * *', nextFireTime: at('2026-03-01T10:00:00.000Z') }),
    );
    await scheduler.runPass();

    store.clock.set(at('2026-03-01T09:55:00.000Z'));
    for (let minute = 0; minute < 10; minute++) {
      await scheduler.runPass();
      store.clock.advance(MINUTE);
    }

    expect(await occurrences(store.storage)).toHaveLength(1);
    expect((await store.storage.jobs.getRecurring('nightly-report'))?.nextFireTime).toEqual(
      at('2026-03-01T11:00:00.000Z'),
    );
  });

  it('plans the next occurrence after the one that it fires, also when the clock is set back meanwhile', async () => {
    const store = await aStore('2026-03-01T10:00:00.000Z');
    const { scheduler } = aScheduler(store);
    const nextFireTime = at('2026-03-01T10:00:00.000Z');
    await store.storage.jobs.upsertRecurring(aDefinition({ cron: '0 * * * *', nextFireTime }));
    const due = await store.storage.jobs.getDueRecurring(1);
    jest.spyOn(store.storage.jobs, 'getDueRecurring').mockResolvedValueOnce(due).mockResolvedValue([]);

    store.clock.set(at('2026-03-01T09:55:00.000Z'));
    await scheduler.runPass();

    expect((await store.storage.jobs.getRecurring('nightly-report'))?.nextFireTime).toEqual(
      at('2026-03-01T11:00:00.000Z'),
    );
  });

  it('fires once after a gap of three years of missed minutes, in less than a second', async () => {
    const store = await aStore('2026-03-01T00:00:30.000Z');
    const { scheduler } = aScheduler(store);
    await store.storage.jobs.upsertRecurring(
      aDefinition({ cron: '* * * * *', nextFireTime: at('2023-03-01T00:00:00.000Z') }),
    );
    const begunAt = cpuTime();

    await scheduler.runPass();
    await scheduler.runPass();

    expect(cpuTime() - begunAt).toBeLessThan(1000);
    expect(await occurrences(store.storage)).toHaveLength(1);
    expect((await store.storage.jobs.getRecurring('nightly-report'))?.nextFireTime).toEqual(
      at('2026-03-01T00:01:00.000Z'),
    );
  });

  it.each([
    { late: 60 * SECOND, jobs: 1 },
    { late: 60 * SECOND + 1, jobs: 0 },
  ])(
    'drops an occurrence that is more than a minute late where the definition skips: $late ms',
    async ({ late, jobs }) => {
      const store = await aStore('2026-03-01T03:00:00.000Z');
      const { scheduler } = aScheduler(store);
      await store.storage.jobs.upsertRecurring(
        aDefinition({ misfire: 'skip', nextFireTime: at('2026-03-01T03:00:00.000Z') }),
      );

      store.clock.advance(late);
      await scheduler.runPass();

      expect(await occurrences(store.storage)).toHaveLength(jobs);
      expect((await store.storage.jobs.getRecurring('nightly-report'))?.nextFireTime).toEqual(
        at('2026-03-02T03:00:00.000Z'),
      );
    },
  );

  it('fires each of thirty occurrences once on two nodes whose passes overlap', async () => {
    const store = await aStore('2026-03-01T00:00:00.000Z');
    const nodes = [aScheduler(store), aScheduler(store)];
    await store.storage.jobs.upsertRecurring(
      aDefinition({ cron: '* * * * *', nextFireTime: at('2026-03-01T00:01:00.000Z') }),
    );

    for (let minute = 0; minute < 30; minute++) {
      store.clock.advance(MINUTE);
      await Promise.all(nodes.map(({ scheduler }) => scheduler.runPass()));
    }

    const planned = (await occurrences(store.storage)).map(({ occurrenceAt }) => occurrenceAt?.getTime());
    expect(planned).toEqual(Array.from({ length: 30 }, (_, minute) => Date.UTC(2026, 2, 1, 0, minute + 1)));
  });

  it('parks a definition whose stored expression no longer parses, with one line, and fires the others', async () => {
    const store = await aStore('2026-03-01T03:00:00.000Z');
    const nodes = [aScheduler(store), aScheduler(store)];
    const errors = nodes.map(({ context }) => jest.spyOn(context.logger, 'error').mockImplementation());
    const nextFireTime = at('2026-03-01T03:00:00.000Z');
    await store.storage.jobs.upsertRecurring(aDefinition({ id: 'broken', cron: '0 0 30 2 *', nextFireTime }));
    await store.storage.jobs.upsertRecurring(aDefinition({ id: 'healthy', nextFireTime }));

    for (let pass = 0; pass < 3; pass++) await Promise.all(nodes.map(({ scheduler }) => scheduler.runPass()));

    const broken = await store.storage.jobs.getRecurring('broken');
    expect(broken).toMatchObject({ nextFireTime: null, parkedReason: expect.stringContaining('0 0 30 2 *') });
    expect(errors.flatMap(({ mock }) => mock.calls)).toEqual([[expect.stringContaining('"broken" is parked')]]);
    expect((await occurrences(store.storage)).map(({ recurringId }) => recurringId)).toEqual(['healthy']);
  });

  it('fires the others when the store refuses one, also where that one fills a batch', async () => {
    const store = await aStore('2026-03-01T03:00:00.000Z');
    const { scheduler, context } = aScheduler(store, { activationBatchSize: 2 });
    jest.spyOn(context.logger, 'error').mockImplementation();
    const nextFireTime = at('2026-03-01T03:00:00.000Z');
    for (const id of ['a', 'b', 'c', 'd']) await store.storage.jobs.upsertRecurring(aDefinition({ id, nextFireTime }));
    failFor('a', store.storage.jobs);

    await scheduler.runPass();

    const fired = (await occurrences(store.storage)).map(({ recurringId }) => recurringId);
    expect(new Set(fired)).toEqual(new Set(['b', 'c', 'd']));
  });

  it('leaves a removed definition alone', async () => {
    const store = await aStore('2026-03-01T02:59:40.000Z');
    const { scheduler } = aScheduler(store);
    await store.storage.jobs.upsertRecurring(aDefinition({ nextFireTime: at('2026-03-01T03:00:00.000Z') }));

    await store.storage.jobs.removeRecurring('nightly-report');
    store.clock.advance(MINUTE);
    await scheduler.runPass();

    expect(await occurrences(store.storage)).toEqual([]);
  });
});

describe('SchedulerService: one pass', () => {
  it('does the rest when one kind of work fails, and then throws', async () => {
    const store = await aStore('2026-03-01T03:00:00.000Z');
    const { scheduler } = aScheduler(store);
    await store.storage.jobs.upsertRecurring(aDefinition({ nextFireTime: at('2026-03-01T03:00:00.000Z') }));
    jest.spyOn(store.storage.jobs, 'activateDue').mockRejectedValue(new Error('deadlock'));

    await expect(scheduler.runPass()).rejects.toThrow('deadlock');

    expect(await occurrences(store.storage)).toHaveLength(1);
  });
});

describe('Pruner', () => {
  it('deletes what has passed its retention, to the minute, and keeps the rest', async () => {
    const store = await aStore('2026-03-01T00:00:30.000Z');
    const { pruner } = aScheduler(store);
    const jobs = [aJob(store.clock), aJob(store.clock)];
    await store.storage.jobs.enqueue(jobs);
    await Promise.all(jobs.map(({ id }) => store.storage.jobs.cancel(id)));

    store.clock.advance(7 * DAY);
    expect(await pruner.prune()).toBe(0);
    store.clock.advance(MINUTE);
    expect(await pruner.prune()).toBe(2);
  });

  it('keeps for ever what it is told to', async () => {
    const store = await aStore('2026-03-01T00:00:00.000Z');
    const { pruner } = aScheduler(store, { retention: { cancelled: false } });

    expect(pruner.cutoffs()).toEqual({
      succeeded: at('2026-02-22T00:00:00.000Z'),
      cancelled: null,
      dead: null,
      completedInstances: at('2026-01-30T00:00:00.000Z'),
      failedInstances: null,
    });
  });

  it('prunes nothing more once it is stopped', async () => {
    const store = await aStore('2026-03-01T00:00:00.000Z');
    const { pruner } = aScheduler(store);
    const prune = jest.spyOn(store.storage.jobs, 'prune');

    pruner.stop();

    expect(await pruner.prune()).toBe(0);
    expect(prune).not.toHaveBeenCalled();
  });
});

function failFor(id: string, jobs: IJobStorage): void {
  const fire = jobs.tryFireRecurring.bind(jobs);
  jest.spyOn(jobs, 'tryFireRecurring').mockImplementation(async (definition, ...rest) => {
    if (definition === id) throw new Error('deadlock');
    return fire(definition, ...rest);
  });
}
