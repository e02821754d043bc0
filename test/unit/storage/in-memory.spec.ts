import {
  type Advance,
  DuplicateJobError,
  inMemoryStorage,
  InvalidArgumentError,
  InvalidTransactionError,
  StorageClosedError,
  type TransactionHandle,
} from 'nestjs-millrace/storage';
import { aDefinition, aJob, anId, claimBy, cutoffs, succeeded } from '../../../lib/conformance/builders';
import { applyOne, take, takeOne } from '../../../lib/conformance/steps';
import { anInstance, aSignal, aStep, changeOf, changing } from '../../../lib/conformance/workflow-builders';
import { inMemoryWorld } from './in-memory-world';

const endless: Advance = (instance) => changeOf(instance, { cancel: { scopes: [''], running: 'abort' } });
const failing: Advance = (current, event) => {
  if (event.kind === 'cancelled') throw new Error('once it had cancelled');
  return endless(current, event);
};
const handle: TransactionHandle = { query: async () => [] };

describe('the in-memory storage', () => {
  it.each([{ keepFinished: -1 }, { keepFinished: 1.5 }, { keepFinished: Number.NaN }])('refuses %p', (options) => {
    expect(() => inMemoryStorage(options)).toThrow(InvalidArgumentError);
    expect(() => inMemoryStorage(options)).toThrow(`got ${String(options.keepFinished)}`);
  });

  it('refuses an unknown rule for transactions of the caller, naming those it knows', () => {
    const options = { callerTransactions: 'ignore' as 'apply' };

    expect(() => inMemoryStorage(options)).toThrow("callerTransactions must be 'refuse' or 'apply', got ignore");
  });

  it('ends an operation before the call returns, so that no other one ever meets it half done', async () => {
    const { clock, storage } = await inMemoryWorld();
    const jobs = [aJob(clock), aJob(clock)];

    const enqueued = storage.jobs.enqueue(jobs);
    const claimed = storage.jobs.claim(claimBy('w1'));
    const again = storage.jobs.claim(claimBy('w2'));

    expect((await claimed).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    expect(await again).toEqual([]);
    await enqueued;
  });

  it('refuses an operation from within another one', async () => {
    const { clock, storage } = await inMemoryWorld();
    const instance = anInstance(clock);
    await storage.workflows.createInstance({ instance, jobs: [], bookmarks: [] });
    let inner: Promise<unknown> = Promise.resolve();

    await storage.workflows.advanceInstance(instance.id, () => {
      inner = storage.jobs.enqueue([aJob(clock)]);
      inner.catch(() => undefined);
      return null;
    });

    await expect(inner).rejects.toThrow('from within another one');
  });

  it('rejects a transition whose instance would live again although another one holds its start key', async () => {
    const { clock, storage } = await inMemoryWorld();
    const [ended, live] = [anInstance(clock, { startKey: 'order-1' }), anInstance(clock, { startKey: 'order-1' })];
    await storage.workflows.createInstance({ instance: ended, jobs: [aStep(clock, ended)], bookmarks: [] });
    await storage.workflows.advanceInstance(ended.id, changing({ update: { state: 'Failed' } }));
    await storage.workflows.createInstance({ instance: live, jobs: [], bookmarks: [] });
    const step = await takeOne(storage.jobs, claimBy('w1'));

    const result = await applyOne(
      storage.jobs,
      succeeded(step, { advance: changing({ update: { state: 'Running' } }) }),
    );

    expect(result).toMatchObject({ outcome: 'rejected', error: { code: 'MILLRACE_INSTANCE_KEY_HELD' } });
    expect((await storage.workflows.getInstance(ended.id))?.state).toBe('Failed');
  });

  it('ends an advance that cancels for ever', async () => {
    const { clock, storage } = await inMemoryWorld();
    const instance = anInstance(clock);
    await storage.workflows.createInstance({ instance, jobs: [], bookmarks: [] });

    const advanced = storage.workflows.advanceInstance(instance.id, endless);

    await expect(advanced).rejects.toThrow(instance.id);
    expect(await storage.workflows.getInstance(instance.id)).toEqual(instance);
  });

  it('keeps what an earlier transition of the call wanted to add when the one that cancels it is rejected', async () => {
    const { clock, storage } = await inMemoryWorld();
    const instance = anInstance(clock);
    const [first, second, added] = [aStep(clock, instance), aStep(clock, instance), aStep(clock, instance)];
    await storage.workflows.createInstance({ instance, jobs: [first, second], bookmarks: [] });
    const steps = await take(storage.jobs, claimBy('w1'));

    const results = await storage.jobs.apply([
      succeeded(steps[0]!, { advance: changing({ enqueue: [added] }) }),
      succeeded(steps[1]!, { advance: failing }),
    ]);

    expect(results.map(({ outcome }) => outcome)).toEqual(['applied', 'rejected']);
    expect(await storage.jobs.getJob(added.id)).toEqual(added);
    expect((await storage.jobs.claim(claimBy('w2'))).map(({ id }) => id)).toEqual([added.id]);
  });

  it('leaves a lease to its owner when the clock is set back after it had expired', async () => {
    const { clock, storage } = await inMemoryWorld();
    await storage.jobs.enqueue([aJob(clock)]);
    await takeOne(storage.jobs, claimBy('w1', { leaseDuration: 60_000 }));
    clock.advance('1m');
    const probe = { queues: ['default'], retention: cutoffs() };
    const expired = [(await storage.jobs.probe(probe)).expired];

    clock.advance(-30_000);
    expired.push((await storage.jobs.probe(probe)).expired);
    const taken = await storage.jobs.claim(claimBy('w2'));
    clock.advance(30_000);
    expired.push((await storage.jobs.probe(probe)).expired);

    expect(taken).toEqual([]);
    expect(expired).toEqual([true, false, true]);
  });

  it('counts queues by any name', async () => {
    const { clock, storage } = await inMemoryWorld();
    await storage.jobs.enqueue([aJob(clock, { queue: '__proto__' }), aJob(clock, { queue: 'constructor' })]);

    const { enqueuedByQueue } = await storage.monitoring.getStatistics();

    expect(Object.entries(enqueuedByQueue)).toEqual([
      ['__proto__', 1],
      ['constructor', 1],
    ]);
  });

  describe('that is not open', () => {
    it('refuses operations, naming itself', async () => {
      const { clock, storage } = await inMemoryWorld();
      await storage.close();

      const enqueued = storage.jobs.enqueue([aJob(clock)]);

      await expect(enqueued).rejects.toThrow(StorageClosedError);
      await expect(storage.workflows.getInstance(anId(clock))).rejects.toThrow('The in-memory storage is not open');
    });

    it('has what it had once it is opened again', async () => {
      const { clock, storage } = await inMemoryWorld();
      const job = aJob(clock);
      await storage.jobs.enqueue([job]);

      await storage.close();
      await storage.close();
      await storage.open();

      expect(await storage.jobs.getJob(job.id)).toEqual(job);
    });
  });

  describe('given a transaction of the caller', () => {
    it('refuses it, saying why and what to do, and stores nothing', async () => {
      const { clock, storage } = await inMemoryWorld();
      const job = aJob(clock);
      const { jobs, workflows } = storage;
      const instance = anInstance(clock);

      const calls = [
        jobs.enqueue([job], handle),
        jobs.cancel(job.id, handle),
        jobs.upsertRecurring(aDefinition(clock), handle),
        jobs.removeRecurring('nightly-report', handle),
        workflows.createInstance({ instance, jobs: [], bookmarks: [] }, handle),
        workflows.advanceInstance(instance.id, () => null, handle),
        workflows.signal(aSignal(clock), handle),
      ];

      for (const call of await Promise.allSettled(calls)) {
        expect(call).toMatchObject({ status: 'rejected', reason: expect.any(InvalidTransactionError) });
        expect((call as PromiseRejectedResult).reason.message).toMatch(/rolled back.*callerTransactions: 'apply'/);
      }
      expect(await jobs.getJob(job.id)).toBeNull();
      expect(await workflows.getInstance(instance.id)).toBeNull();
    });

    it("applies the operation at once with callerTransactions: 'apply'", async () => {
      const { clock, storage } = await inMemoryWorld({ callerTransactions: 'apply' });
      const job = aJob(clock);

      await storage.jobs.enqueue([job], handle);

      expect(await storage.jobs.getJob(job.id)).toEqual(job);
      expect(await storage.jobs.cancel(job.id, handle)).toBe(true);
    });

    it.each([{ isTransactionActive: false }, { queryRunner: { isTransactionActive: false } }])(
      'refuses one that shows not to be open even then: %p',
      async (closed) => {
        const { clock, storage } = await inMemoryWorld({ callerTransactions: 'apply' });

        const enqueued = storage.jobs.enqueue([aJob(clock)], { ...handle, ...closed });

        await expect(enqueued).rejects.toThrow('The transaction is not open');
      },
    );
  });

  it('takes back a batch of which the last job cannot be stored, with its keys', async () => {
    const { clock, storage } = await inMemoryWorld();
    const [first, second] = [aJob(clock, { idempotencyKey: 'k' }), aJob(clock, { idempotencyKey: 'k' })];

    await expect(storage.jobs.enqueue([first, aJob(clock, { id: first.id })])).rejects.toThrow(DuplicateJobError);

    expect(await storage.jobs.enqueue([second])).toEqual([second.id]);
    expect((await storage.jobs.claim(claimBy('w1'))).map(({ id }) => id)).toEqual([second.id]);
  });
});
