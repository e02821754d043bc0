import { Injectable } from '@nestjs/common';
import {
  type EnqueueOptions,
  InvalidArgumentError,
  InvalidCronError,
  InvalidPayloadError,
  InvalidTransactionError,
  ITenantContext,
  Job,
  JobBatch,
  type JobId,
  JobNotFinishedError,
  JobState,
  ParentJobNotFoundError,
  RecurringTenantError,
  Retry,
  type TransactionHandle,
  WorkflowJobError,
  WorkflowJobParentError,
} from '../../../lib';
import { newId } from '../../../lib/model/ids';
import { type JobRecord, newJob } from '../../../lib/model/job';
import type { JobTransition, TransitionTarget } from '../../../lib/model/job-transition';
import { Application } from './application';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

@Injectable()
class Orders {
  @Job()
  async confirm(_id: string, _options?: object): Promise<void> {}
}

const start = (options = {}) => Application.start({ providers: [Orders], options });

describe('enqueue', () => {
  it('stores a job that is claimable at once', async () => {
    await using app = await start();

    const id = await app.jobs.enqueue(Orders, (o) => o.confirm('o-1'));

    expect(await app.jobs.getJob(id)).toMatchObject({
      id,
      state: JobState.Enqueued,
      handler: 'Orders.confirm',
      args: '["o-1"]',
      argTypes: null,
      createdAt: app.clock.now(),
      readyAt: app.clock.now(),
      tenantId: null,
      attempts: [],
    });
  });

  it('captures the ambient tenant', async () => {
    await using app = await start();

    const id = await app.get(ITenantContext).run('acme', () => app.jobs.enqueue(Orders, (o) => o.confirm('o-1')));

    expect(await app.job(id)).toMatchObject({ tenantId: 'acme' });
  });

  it('answers the active job of an idempotency key, and stores nothing', async () => {
    await using app = await start();
    const options = { idempotencyKey: 'confirm:1' };
    const first = await app.jobs.enqueue(Orders, (o) => o.confirm('a'), options);

    const second = await app.jobs.enqueue(Orders, (o) => o.confirm('b'), { ...options, queue: 'other' });

    expect(second).toBe(first);
    expect(await app.claim('default', 'other')).toHaveLength(1);
  });

  it.each<[unknown, RegExp]>([
    [{ queue: ' mail' }, /the queue to be without white space/],
    [{ queue: 'a'.repeat(129) }, /at most 128 characters long, got 129/],
    [{ priority: '5' }, /expected priority to be a whole number/],
    [{ retry: { kind: 'Often', maxAttempts: 1, baseDelay: 0, maxDelay: 0 } }, /kind must be one of/],
    [{ retry: null }, /expected retry to be a policy/],
    [{ timeout: -5 }, /timeout/],
    [{ idempotencyKey: '' }, /idempotency key/],
    [{ idempotencyKey: 'a\u0000' }, /idempotency key to be without control characters/],
    [{ idempotencKey: 'a' }, /has no option "idempotencKey"; its options are .*idempotencyKey/],
    ['mail', /expected the options to be an object, got "mail"/],
  ])('refuses the options %j and stores nothing', async (options, message) => {
    await using app = await start();

    const enqueue = app.jobs.enqueue(Orders, (o) => o.confirm('a'), options as EnqueueOptions);

    await expect(enqueue).rejects.toThrow(InvalidArgumentError);
    await expect(enqueue).rejects.toThrow(message);
    expect(await app.claim()).toEqual([]);
  });

  it('refuses what cannot be stored, and stores nothing', async () => {
    await using app = await start({ maxPayloadBytes: 100 });

    await expect(app.jobs.enqueue(Orders, (o) => o.confirm('a', { f: () => 1 }))).rejects.toThrow(
      expect.objectContaining({ path: 'argument 2, at .f', code: 'MILLRACE_INVALID_PAYLOAD' }),
    );
    await expect(app.jobs.enqueue(Orders, (o) => o.confirm('a'.repeat(97)))).rejects.toThrow(InvalidPayloadError);
    expect(await app.claim()).toEqual([]);
  });

  it('refuses an ambient tenant that no store could hold', async () => {
    await using app = await start();

    const enqueue = app.get(ITenantContext).run(' ', () => app.jobs.enqueue(Orders, (o) => o.confirm('a')));

    await expect(enqueue).rejects.toThrow(/tenant/);
  });
});

describe('schedule', () => {
  it('stores a due time, measured from now or given as an instant', async () => {
    await using app = await start();
    const past = new Date(app.clock.now().getTime() - DAY);
    const jobs = [
      await app.jobs.schedule(Orders, (o) => o.confirm('a'), '7d'),
      await app.jobs.schedule(Orders, (o) => o.confirm('a'), 0),
      await app.jobs.schedule(Orders, (o) => o.confirm('a'), past),
      await app.jobs.schedule(Orders, (o) => o.confirm('a'), '300y', { queue: 'later' }),
    ];

    const stored = await Promise.all(jobs.map((id) => app.job(id)));

    const now = app.clock.now().getTime();
    expect(stored.map(({ state }) => state)).toEqual(Array(4).fill(JobState.Scheduled));
    expect(stored.slice(0, 3).map(({ dueAt }) => dueAt?.getTime())).toEqual([now + 7 * DAY, now, past.getTime()]);
    expect(stored[3]).toMatchObject({ queue: 'later', readyAt: null });
    expect(await app.claim()).toEqual([]);
  });

  it.each([
    [-1, /the delay must be milliseconds \(0 or more\)/],
    ['tomorrow', /the delay must be/],
    [NaN, /the delay/],
    [undefined, /the delay/],
    [new Date(NaN), /the due time to be a valid Date/],
    ['10000 years', /before the year 10000/],
    [new Date(Date.UTC(10_000, 0)), /before the year 10000/],
  ])('refuses %p', async (when, message) => {
    await using app = await start();

    await expect(app.jobs.schedule(Orders, (o) => o.confirm('a'), when as string)).rejects.toThrow(message);
  });
});

describe('continueWith', () => {
  it('stores a job that waits for its parent, in either spelling of its id', async () => {
    await using app = await start();
    const parent = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));

    const child = await app.jobs.continueWith(parent, Orders, (o) => o.confirm('b'));
    const other = await app.jobs.continueWith(parent.replaceAll('-', '').toUpperCase(), Orders, (o) => o.confirm('c'));

    expect(await app.job(child)).toMatchObject({ state: JobState.Awaiting, parentId: parent });
    expect(await app.job(other)).toMatchObject({ parentId: parent });
  });

  it('refuses a parent that does not exist, is no id, or is a step of a workflow', async () => {
    await using app = await start();
    const step = await storeStep(app);

    await expect(app.jobs.continueWith(newId(new Date()), Orders, (o) => o.confirm('b'))).rejects.toThrow(
      ParentJobNotFoundError,
    );
    await expect(app.jobs.continueWith('parent', Orders, (o) => o.confirm('b'))).rejects.toThrow(
      /expected the parent to be an id that an enqueueing call returned, got "parent"/,
    );
    await expect(app.jobs.continueWith(step, Orders, (o) => o.confirm('b'))).rejects.toThrow(WorkflowJobParentError);
  });
});

describe('A recurring definition', () => {
  it('is stored with its first occurrence, and replaced by the next upsert', async () => {
    await using app = await start();
    await app.jobs.upsertRecurring('nightly', '0 3 * * *', Orders, (o) => o.confirm('a'), {
      queue: 'reports',
      misfire: 'skip',
    });
    const first = await app.jobs.getRecurring('nightly');
    app.clock.advance('1m');

    await app.jobs.upsertRecurring('nightly', '@hourly', Orders, (o) => o.confirm('b'), { priority: 4 });

    expect(first).toMatchObject({
      cron: '0 3 * * *',
      queue: 'reports',
      misfire: 'skip',
      args: '["a"]',
      nextFireTime: new Date('2026-01-01T03:00:00Z'),
      lastFireTime: null,
    });
    expect(await app.jobs.getRecurring('nightly')).toMatchObject({
      cron: '@hourly',
      queue: 'default',
      priority: 4,
      misfire: 'fireOnce',
      args: '["b"]',
      createdAt: first?.createdAt,
      nextFireTime: new Date('2026-01-01T01:00:00Z'),
    });
  });

  it('is removed, and removing an unknown one does nothing', async () => {
    await using app = await start();
    await app.jobs.upsertRecurring('nightly', '@daily', Orders, (o) => o.confirm('a'));

    await app.jobs.removeRecurring('nightly');
    await app.jobs.removeRecurring('nightly');

    expect(await app.jobs.getRecurring('nightly')).toBeNull();
    expect(await app.jobs.triggerRecurring('nightly')).toBe(false);
  });

  it('can be triggered beside its schedule, with what it says and for its tenant', async () => {
    await using app = await start();
    await app.get(ITenantContext).run('acme', () =>
      app.jobs.upsertRecurring('nightly', '@daily', Orders, (o) => o.confirm('a'), {
        retry: Retry.none,
        timeout: '5m',
      }),
    );
    const before = await app.jobs.getRecurring('nightly');

    expect(await app.jobs.triggerRecurring('nightly')).toBe(true);

    const [job] = await app.claim();
    expect(await app.job(job!.id)).toMatchObject({
      recurringId: 'nightly',
      occurrenceAt: null,
      tenantId: 'acme',
      retry: Retry.none,
      timeout: 5 * MINUTE,
      args: '["a"]',
    });
    expect(await app.jobs.getRecurring('nightly')).toEqual(before);
  });

  it('belongs to the tenant that made it', async () => {
    await using app = await start();
    await app.jobs.upsertRecurring('nightly', '@daily', Orders, (o) => o.confirm('a'));

    const upsert = app
      .get(ITenantContext)
      .run('acme', () => app.jobs.upsertRecurring('nightly', '@daily', Orders, (o) => o.confirm('a')));

    await expect(upsert).rejects.toThrow(RecurringTenantError);
  });

  it.each<[string, unknown, object, RegExp]>([
    ['', '@daily', {}, /recurring id/],
    ['a'.repeat(257), '@daily', {}, /at most 256/],
    ['a', '0 0 30 2 *', {}, /"0 0 30 2 \*", day of month/],
    ['a', '0 0 * * * *', {}, /6 fields instead of 5/],
    ['a', '', {}, /0 fields/],
    ['a', null, {}, /it is no text/],
    ['a', '0 0 29 2 */7', {}, /no occurrence within 8 years/],
    [
      'a',
      '@daily',
      { idempotencyKey: 'k' },
      /expected idempotencyKey to be absent, since recurring jobs do not support it/,
    ],
    ['a', '@daily', { misfire: 'later' }, /expected misfire to be one of fireOnce, skip, got "later"/],
    ['a', '@daily', { misfires: 'skip' }, /has no option "misfires"/],
  ])('refuses %j with %j and %j, and keeps what is stored', async (id, cron, options, message) => {
    await using app = await start();
    app.clock.set(new Date('2004-03-01T00:00:00Z'));
    await app.jobs.upsertRecurring('a', '@hourly', Orders, (o) => o.confirm('a'));

    const upsert = app.jobs.upsertRecurring(id, cron as string, Orders, (o) => o.confirm('b'), options);

    await expect(upsert).rejects.toThrow(message);
    expect(await app.jobs.getRecurring('a')).toMatchObject({ cron: '@hourly', args: '["a"]' });
  });

  it('says that its expression is at fault by the class of the error', async () => {
    await using app = await start();

    await expect(app.jobs.upsertRecurring('a', '5 4 3 2', Orders, (o) => o.confirm('b'))).rejects.toThrow(
      InvalidCronError,
    );
  });
});

describe('requeue', () => {
  it.each(['Succeeded', 'Dead', 'Cancelled'] as const)('runs a %s job again, as a new one', async (state) => {
    await using app = await start();
    await app.get(ITenantContext).run('acme', () =>
      app.jobs.enqueue(Orders, (o) => o.confirm('a', { at: new Date(0) }), {
        queue: 'mail',
        priority: 2,
        retry: Retry.fixed(5, 2),
        timeout: 9,
        idempotencyKey: 'k',
      }),
    );
    const id = await end(app, state, 'mail');
    app.clock.advance('1h');

    const requeued = await app.jobs.requeue(id);

    const original = await app.job(id);
    expect(original.state).toBe(state);
    expect(await app.job(requeued!)).toMatchObject({
      state: JobState.Enqueued,
      createdAt: app.clock.now(),
      requeuedFrom: id,
      attempt: 0,
      failures: 0,
      lastError: null,
      parentId: null,
      queue: 'mail',
      priority: 2,
      retry: Retry.fixed(5, 2),
      timeout: 9,
      idempotencyKey: 'k',
      tenantId: 'acme',
      args: original.args,
      argTypes: original.argTypes,
    });
    expect(requeued).not.toBe(id);
  });

  it('answers the active job that holds the key', async () => {
    await using app = await start();
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { idempotencyKey: 'k' });
    const id = await end(app, 'Dead');
    const holder = await app.jobs.enqueue(Orders, (o) => o.confirm('b'), { idempotencyKey: 'k' });

    expect(await app.jobs.requeue(id)).toBe(holder);
  });

  it('keeps the link to a recurring definition and its occurrence', async () => {
    await using app = await start();
    const occurrenceAt = new Date('2026-01-01T03:00:00Z');
    await app.storage.enqueue([aJob(app, { recurringId: 'nightly', occurrenceAt })]);
    const id = await end(app, 'Dead');

    expect(await app.job((await app.jobs.requeue(id))!)).toMatchObject({ recurringId: 'nightly', occurrenceAt });
  });

  it('refuses a job that has not ended, naming runNow where that is the call', async () => {
    await using app = await start();
    const enqueued = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const scheduled = await app.jobs.schedule(Orders, (o) => o.confirm('a'), '1h');
    const awaiting = await app.jobs.continueWith(scheduled, Orders, (o) => o.confirm('a'));
    const failed = await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { queue: 'failing' });
    await end(app, 'Failed', 'failing');

    for (const id of [enqueued, scheduled, awaiting]) {
      await expect(app.jobs.requeue(id)).rejects.toThrow(JobNotFinishedError);
      await expect(app.jobs.requeue(id)).rejects.toThrow(/Cancel it first/);
    }
    await expect(app.jobs.requeue(failed)).rejects.toThrow(/waits for its next attempt: use runNow/);
  });

  it('answers null for an unknown job', async () => {
    await using app = await start();

    expect(await app.jobs.requeue(newId(new Date()))).toBeNull();
  });
});

describe('Other management', () => {
  it('cancels, runs now and deletes, and says whether it did', async () => {
    await using app = await start();
    const cancelled = await app.jobs.schedule(Orders, (o) => o.confirm('a'), '1h');
    const failed = await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { queue: 'failing' });
    await end(app, 'Failed', 'failing');

    expect([await app.jobs.cancel(cancelled), await app.jobs.cancel(cancelled)]).toEqual([true, false]);
    expect([await app.jobs.runNow(failed), await app.jobs.runNow(failed)]).toEqual([true, false]);
    expect([await app.jobs.delete(failed), await app.jobs.delete(cancelled)]).toEqual([false, true]);
    expect(await app.jobs.getJob(cancelled)).toBeNull();
    expect(await app.job(failed)).toMatchObject({ state: JobState.Enqueued });
  });

  it('pauses and resumes a queue', async () => {
    await using app = await start();
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { queue: 'mail' });

    await app.jobs.pauseQueue('mail');
    const paused = await app.claim('mail');
    await app.jobs.resumeQueue('mail');

    expect(paused).toEqual([]);
    expect(await app.claim('mail')).toHaveLength(1);
    await expect(app.jobs.pauseQueue('')).rejects.toThrow(/queue/);
    await expect(app.jobs.resumeQueue(' ')).rejects.toThrow(/queue/);
  });

  it('answers false or null for a job that does not exist', async () => {
    await using app = await start();
    const id = newId(new Date());

    expect([
      await app.jobs.cancel(id),
      await app.jobs.runNow(id),
      await app.jobs.delete(id),
      await app.jobs.getJob(id),
    ]).toEqual([false, false, false, null]);
  });

  it.each(['cancel', 'runNow', 'requeue', 'delete', 'getJob'] as const)(
    'refuses what is no id in %s',
    async (method) => {
      await using app = await start();

      for (const id of ['o-1', '', undefined, 5]) {
        await expect(app.jobs[method](id as JobId)).rejects.toThrow(
          /expected the job id to be an id that an enqueueing call/,
        );
      }
    },
  );

  it.each([
    ['cancel', /cancel is refused\. Use workflows\.cancel/],
    ['requeue', /requeue is refused\. Use workflows\.retry/],
    ['delete', /delete is refused\. It goes with its instance/],
  ] as const)('refuses to %s a step of a workflow', async (method, message) => {
    await using app = await start();
    const step = await storeStep(app);

    await expect(app.jobs[method](step)).rejects.toThrow(WorkflowJobError);
    await expect(app.jobs[method](step)).rejects.toThrow(message);
    expect(await app.job(step)).toMatchObject({ state: JobState.Enqueued });
  });
});

describe('A transaction', () => {
  const open = { query: async () => [], isTransactionActive: true };
  const closed = [
    ['a query runner outside of a transaction', { query: async () => [], isTransactionActive: false }],
    [
      'a manager whose query runner is outside of one',
      { query: async () => [], queryRunner: { isTransactionActive: false } },
    ],
    ['a manager without query runner', { query: async () => [], transaction: async () => undefined }],
    ['something else', { isTransactionActive: true }],
  ] as unknown as [string, TransactionHandle][];

  it.each(closed)('is refused by every call that is given %s', async (_, transaction) => {
    await using app = await start();
    const id = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const options = { transaction };
    const { jobs } = app;
    const calls: (() => Promise<unknown>)[] = [
      () => jobs.enqueue(Orders, (o) => o.confirm('a'), options),
      () => jobs.schedule(Orders, (o) => o.confirm('a'), 5, options),
      () => jobs.continueWith(id, Orders, (o) => o.confirm('a'), options),
      () => jobs.upsertRecurring('a', '@daily', Orders, (o) => o.confirm('a'), options),
      () => jobs.removeRecurring('a', options),
      () => jobs.triggerRecurring('a', options),
      () => jobs.cancel(id, options),
      () => jobs.requeue(id, options),
      () =>
        jobs.enqueueBatch(
          new JobBatch().enqueue(Orders, (o) => o.confirm('a')),
          options,
        ),
    ];

    for (const call of calls) await expect(call()).rejects.toThrow(InvalidTransactionError);
    expect(await app.claim()).toHaveLength(1);
  });

  it.each<[string, TransactionHandle]>([
    ['a query runner', open],
    ['a manager in a transaction', { query: async () => [], queryRunner: { isTransactionActive: true } }],
    ['a handle that does not say', { query: async () => [] }],
  ])('may be %s', async (_, transaction) => {
    await using app = await start();

    await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { transaction });

    expect(await app.claim()).toHaveLength(1);
  });

  it('is passed to the store by every call that can join one', async () => {
    const joined: unknown[] = [];
    await using app = await start();
    const id = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const { jobs, storage } = app;
    noteTransactions(storage, joined);
    const options = { transaction: open };

    await jobs.enqueue(Orders, (o) => o.confirm('a'), options);
    await jobs.schedule(Orders, (o) => o.confirm('a'), 5, options);
    await jobs.continueWith(id, Orders, (o) => o.confirm('a'), options);
    await jobs.enqueueBatch(
      new JobBatch().enqueue(Orders, (o) => o.confirm('a')),
      options,
    );
    await jobs.upsertRecurring('a', '@daily', Orders, (o) => o.confirm('a'), options);
    await jobs.triggerRecurring('a', options);
    await jobs.removeRecurring('a', options);
    await jobs.cancel(id, options);
    await jobs.requeue(id, options);

    expect(joined).toEqual(Array.from({ length: 9 }, () => open));
  });

  it('is asked of the application where a call is given none', async () => {
    let ambient: TransactionHandle | undefined;
    const joined: unknown[] = [];
    await using app = await start({ ambientTransaction: () => ambient });
    noteTransactions(app.storage, joined);
    const given = { ...open };

    await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    ambient = open;
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { transaction: given });
    ambient = { ...open, isTransactionActive: false };

    expect(joined).toEqual([undefined, open, given]);
    await expect(app.jobs.enqueue(Orders, (o) => o.confirm('a'))).rejects.toThrow(
      /ambientTransaction has no open transaction/,
    );
  });
});

function noteTransactions(storage: Application['storage'], joined: unknown[]): void {
  for (const method of ['enqueue', 'upsertRecurring', 'removeRecurring', 'cancel'] as const) {
    const original = storage[method].bind(storage) as (...args: unknown[]) => Promise<never>;
    storage[method] = async (...args: unknown[]) => {
      joined.push(args[1]);
      return original(...args);
    };
  }
}

function aJob(app: Application, fields: Partial<JobRecord>): JobRecord {
  const createdAt = app.clock.now();
  return newJob({
    id: newId(createdAt),
    queue: 'default',
    handler: 'Orders.confirm',
    args: '[]',
    retry: Retry.none,
    createdAt,
    ...fields,
  });
}

/** A job as a workflow stores it. */
async function storeStep(app: Application): Promise<JobId> {
  const step = aJob(app, { instanceId: newId(new Date()), position: '{}', scope: '' });
  await app.storage.enqueue([step]);
  return step.id;
}

/** Claims the one job of a queue and brings it to an end. */
async function end(app: Application, target: TransitionTarget, queue = 'default'): Promise<JobId> {
  const [job] = await app.claim(queue);
  const dead = target === 'Failed' || target === 'Dead';
  const transition: JobTransition = {
    id: job!.id,
    workerId: 'worker',
    attempt: job!.attempt,
    target,
    failures: dead ? 1 : 0,
    dueAt: target === 'Failed' ? new Date(app.clock.now().getTime() + MINUTE) : null,
    error: dead ? 'failed' : null,
    history: dead ? 'Failed' : null,
    enqueue: [],
    instanceId: null,
    advance: null,
  };
  expect(await app.storage.apply([transition])).toEqual([{ outcome: 'applied' }]);
  return job!.id;
}
