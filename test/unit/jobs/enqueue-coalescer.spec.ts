import { EnqueueCoalescer } from '../../../lib/jobs/enqueue-coalescer';
import { Retry } from '../../../lib/model/retry';
import { type JobId, newId } from '../../../lib/model/ids';
import { type JobRecord, newJob } from '../../../lib/model/job';
import type { IJobStorage } from '../../../lib/storage/job-storage';
import { InvalidJobRecordError, OutcomeUnknownError } from '../../../lib/storage/storage.errors';

/** A store whose calls end when the test says so. */
class SlowStore {
  readonly calls: string[][] = [];
  readonly answers: (() => void)[] = [];
  refused: ReadonlySet<string> = new Set();
  failure: Error | undefined;
  reachable = true;
  manual = false;

  async enqueue(jobs: readonly JobRecord[]): Promise<JobId[]> {
    this.calls.push(jobs.map(({ args }) => args));
    if (this.manual) await new Promise<void>((resolve) => this.answers.push(resolve));
    if (this.failure !== undefined) throw this.failure;
    if (jobs.some(({ args }) => this.refused.has(args))) throw new InvalidJobRecordError('cannot be stored');
    return jobs.map(({ args }) => `id of ${args}`);
  }

  async hasClaimable(): Promise<boolean> {
    if (!this.reachable) throw new Error('connection refused');
    return false;
  }

  coalescer(): EnqueueCoalescer {
    return new EnqueueCoalescer(this as unknown as IJobStorage);
  }
}

function job(args: string): JobRecord {
  const createdAt = new Date(0);
  return newJob({ id: newId(createdAt), queue: 'default', handler: 'A.b', args, retry: Retry.none, createdAt });
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Jobs that are enqueued at the same time', () => {
  it('share one call, and each caller gets its own id', async () => {
    const store = new SlowStore();
    const coalescer = store.coalescer();

    const ids = await Promise.all(['a', 'b', 'c'].map((args) => coalescer.enqueue(job(args))));

    expect(ids).toEqual(['id of a', 'id of b', 'id of c']);
    expect(store.calls).toEqual([['a', 'b', 'c']]);
  });

  it('wait for the call that is under way, and go together in the next', async () => {
    const store = new SlowStore();
    store.manual = true;
    const coalescer = store.coalescer();

    const all = [coalescer.enqueue(job('a'))];
    await turn();
    all.push(coalescer.enqueue(job('b')), coalescer.enqueue(job('c')));
    await turn();
    const duringFirst = store.calls.length;
    store.answers.shift()?.();
    await turn();
    store.answers.shift()?.();
    await Promise.all(all);

    expect(duringFirst).toBe(1);
    expect(store.calls).toEqual([['a'], ['b', 'c']]);
  });

  it('start at once where nothing is under way', async () => {
    const store = new SlowStore();
    const coalescer = store.coalescer();
    await coalescer.enqueue(job('a'));

    void coalescer.enqueue(job('b'));
    await Promise.resolve();

    expect(store.calls).toEqual([['a'], ['b']]);
    await coalescer.idle();
  });

  it('do not fail for one of them that cannot be stored', async () => {
    const store = new SlowStore();
    store.refused = new Set(['3', '17']);
    const coalescer = store.coalescer();

    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => coalescer.enqueue(job(String(n)))));

    const failed = results.flatMap((result, n) => (result.status === 'rejected' ? [n] : []));
    expect(failed).toEqual([3, 17]);
    expect(results[4]).toEqual({ status: 'fulfilled', value: 'id of 4' });
  });

  it.each<[string, Error, boolean]>([
    ['cannot be reached', new Error('connection refused'), false],
    ['does not know what became of them', new OutcomeUnknownError('the connection was lost'), true],
  ])('fail together, without further tries, where the store %s', async (_, failure, reachable) => {
    const store = new SlowStore();
    Object.assign(store, { failure, reachable });
    const coalescer = store.coalescer();

    const results = await Promise.allSettled(['a', 'b', 'c'].map((args) => coalescer.enqueue(job(args))));

    expect(results).toEqual(Array.from({ length: 3 }, () => ({ status: 'rejected', reason: failure })));
    expect(store.calls).toHaveLength(1);
  });

  it('go on after a failure', async () => {
    const store = new SlowStore();
    store.refused = new Set(['a']);
    const coalescer = store.coalescer();

    await expect(coalescer.enqueue(job('a'))).rejects.toThrow(InvalidJobRecordError);

    await expect(coalescer.enqueue(job('b'))).resolves.toBe('id of b');
  });

  it('are at most 8 MiB per call', async () => {
    const store = new SlowStore();
    const coalescer = store.coalescer();
    const large = 'x'.repeat(2 ** 20);

    await Promise.all(Array.from({ length: 6 }, () => coalescer.enqueue(job(large))));

    const sizes = store.calls.map((call) => call.length * large.length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(6 * large.length);
    expect(Math.max(...sizes) * 3).toBeLessThanOrEqual(8 * 2 ** 20);
  });

  it('have all been answered when it is idle', async () => {
    const store = new SlowStore();
    const coalescer = store.coalescer();
    let answered = 0;
    for (let count = 0; count < 2500; count++) void coalescer.enqueue(job('a')).then(() => answered++);

    await coalescer.idle();
    await turn();

    expect(answered).toBe(2500);
    expect(store.calls.length).toBeLessThan(5);
  });
});
