import type { StorageSignal } from 'nestjs-millrace/storage';
import {
  aContinuation,
  aJob,
  aScheduledJob,
  claimBy,
  failed,
  released,
  succeeded,
} from '../../../lib/conformance/builders';
import { applied, takeOne } from '../../../lib/conformance/steps';
import { anInstance, aStep, changing } from '../../../lib/conformance/workflow-builders';
import { inMemoryWorld, type InMemoryWorld } from './in-memory-world';

interface Listening extends InMemoryWorld {
  /** What has been heard since the last call. */
  readonly heard: () => Promise<StorageSignal[]>;
}

async function listening(): Promise<Listening> {
  const world = await inMemoryWorld();
  const signals: StorageSignal[] = [];
  world.storage.notifier?.subscribe((signal) => void signals.push(signal));
  const heard = async (): Promise<StorageSignal[]> => {
    await new Promise(setImmediate);
    return signals.splice(0);
  };
  return { ...world, heard };
}

const ready = (queue: string): StorageSignal => ({ kind: 'ready', queue });

describe('the in-memory notifier', () => {
  it('tells of new work once per queue and operation', async () => {
    const { clock, storage, heard } = await listening();

    await storage.jobs.enqueue(['a', 'b', 'a', 'b', 'a'].map((queue) => aJob(clock, { queue })));

    expect(await heard()).toEqual([ready('a'), ready('b')]);
  });

  it('tells of every way in which a job becomes claimable', async () => {
    const { clock, storage, heard } = await listening();
    const { jobs } = storage;
    const told: StorageSignal[][] = [];
    const after = async (operation: Promise<unknown>): Promise<void> => {
      await operation;
      told.push(await heard());
    };

    const parent = aJob(clock, { queue: 'inserted' });
    await after(jobs.enqueue([parent, aContinuation(clock, parent.id, { queue: 'continued' })]));
    const claimed = await takeOne(jobs, claimBy('w1', { queues: ['inserted'] }));
    await after(applied(jobs, released(claimed)));
    const again = await takeOne(jobs, claimBy('w1', { queues: ['inserted'] }));
    await after(applied(jobs, failed(again, clock.now())));
    await after(jobs.runNow(parent.id));
    const third = await takeOne(jobs, claimBy('w1', { queues: ['inserted'] }));
    await after(applied(jobs, succeeded(third)));
    await after(jobs.enqueue([aScheduledJob(clock, clock.now(), { queue: 'scheduled' })]));
    await after(jobs.activateDue(10));

    expect(told).toEqual([
      [ready('inserted')],
      [ready('inserted')],
      [],
      [ready('inserted')],
      [ready('continued')],
      [],
      [ready('scheduled')],
    ]);
  });

  it('tells which running job is asked to stop, be it alone or by its scope', async () => {
    const { clock, storage, heard } = await listening();
    const instance = anInstance(clock);
    const step = aStep(clock, instance);
    await storage.workflows.createInstance({ instance, jobs: [step], bookmarks: [] });
    await takeOne(storage.jobs, claimBy('w1'));
    await heard();

    await storage.jobs.cancel(step.id);
    const first = await heard();
    await storage.workflows.advanceInstance(instance.id, (current, event) =>
      event.kind === 'called' ? changing({ cancel: { scopes: [''], running: 'abort' } })(current, event) : null,
    );

    expect(first).toEqual([{ kind: 'cancel', id: step.id }]);
    expect(await heard()).toEqual([{ kind: 'cancel', id: step.id }]);
  });

  it('says nothing of an operation that failed, or of a transition that was rejected', async () => {
    const { clock, storage, heard } = await listening();
    const job = aJob(clock);
    await storage.jobs.enqueue([job]);
    const claimed = await takeOne(storage.jobs, claimBy('w1'));
    await heard();
    const [good, bad] = [aJob(clock), aJob(clock, { id: job.id })];

    await storage.jobs.enqueue([good, bad]).catch(() => undefined);
    await storage.jobs.apply([succeeded(claimed, { enqueue: [good, bad] })]);

    expect(await heard()).toEqual([]);
  });

  it('lets the operation return first, and a listener call the store', async () => {
    const { clock, storage } = await inMemoryWorld();
    const claims: Promise<unknown[]>[] = [];
    storage.notifier?.subscribe(() => void claims.push(storage.jobs.claim(claimBy('w1'))));

    const enqueued = storage.jobs.enqueue([aJob(clock)]);
    const heardAtOnce = claims.length;
    await enqueued;
    await new Promise(setImmediate);

    expect(heardAtOnce).toBe(0);
    expect(await Promise.all(claims)).toHaveLength(1);
    expect(await claims[0]).toHaveLength(1);
  });

  it('goes on after a listener that throws, and logs it', async () => {
    const { clock, storage, errors } = await inMemoryWorld();
    const signals: StorageSignal[] = [];
    storage.notifier?.subscribe(() => {
      throw new Error('deaf');
    });
    storage.notifier?.subscribe((signal) => void signals.push(signal));

    await storage.jobs.enqueue([aJob(clock)]);
    await new Promise(setImmediate);

    expect(signals).toEqual([ready('default')]);
    expect(errors).toEqual([expect.stringContaining('deaf')]);
  });

  it('is silent to who has unsubscribed, and to all once the store is closed', async () => {
    const { clock, storage } = await inMemoryWorld();
    const signals: StorageSignal[] = [];
    const listener = (signal: StorageSignal): void => void signals.push(signal);
    const unsubscribe = storage.notifier?.subscribe(listener);
    storage.notifier?.subscribe(listener);

    unsubscribe?.();
    await storage.jobs.enqueue([aJob(clock)]);
    await new Promise(setImmediate);
    const whileOpen = signals.splice(0);
    const enqueued = storage.jobs.enqueue([aJob(clock)]);
    await storage.close();
    await enqueued;
    await new Promise(setImmediate);

    expect(whileOpen).toEqual([ready('default')]);
    expect(signals).toEqual([]);
  });
});
