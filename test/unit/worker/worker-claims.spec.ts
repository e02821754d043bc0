import { Injectable, Logger } from '@nestjs/common';
import { Job, Retry } from 'nestjs-millrace';
import { FakeClock, type IJobStorage, type Probe } from 'nestjs-millrace/storage';
import { Application, eventually, Gate, sharedStorage, withoutNotifier } from './an-application';

@Injectable()
class Work {
  readonly ran: string[] = [];
  running = 0;
  mostRunning = 0;
  readonly gate = new Gate();

  @Job({ retry: Retry.none })
  async short(name: string): Promise<void> {
    this.ran.push(name);
  }

  @Job({ retry: Retry.none })
  async untilOpened(name: string): Promise<void> {
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    await this.gate.opened;
    this.running--;
    this.ran.push(name);
  }

  @Job({ retry: Retry.none })
  async lasting(milliseconds: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    this.ran.push('lasted');
  }
}

/** Names of the calls that a store receives from now on. */
function callsOf(storage: IJobStorage): string[] {
  const calls: string[] = [];
  const names = [
    'claim',
    'probe',
    'hasClaimable',
    'renew',
    'apply',
    'activateDue',
    'getDueRecurring',
    'prune',
    'recordNode',
    'getJob',
  ] as const;
  for (const name of names) {
    const original = storage[name].bind(storage) as (...args: unknown[]) => Promise<never>;
    jest.spyOn(storage, name).mockImplementation((...args: unknown[]) => {
      calls.push(name);
      return original(...args);
    });
  }
  return calls;
}

/** Changes what the probes of a store answer; the returned object may be changed later. */
function probeSays(storage: IJobStorage, answer: Partial<Probe>): { answer: Partial<Probe>; calls: unknown[] } {
  const probe = storage.probe.bind(storage);
  const spy = jest.spyOn(storage, 'probe');
  const changes = { answer, calls: spy.mock.calls as unknown[] };
  spy.mockImplementation(async (request) => ({ ...(await probe(request)), ...changes.answer }));
  return changes;
}

describe('A worker', () => {
  it('runs no more jobs at once than its parallelism, and a finished one frees its slot at once', async () => {
    const app = await Application.start({ providers: [Work] }, { maxParallelism: 3 });
    const work = app.context.get(Work);

    for (let job = 0; job < 8; job++) await app.jobs.enqueue(Work, (w) => w.untilOpened(`job ${job}`));
    await eventually(() => work.running === 3 || undefined);
    work.gate.open();
    await eventually(() => work.ran.length === 8 || undefined);

    expect(work.mostRunning).toBe(3);
  });

  it('takes jobs of all its queues as one pool: priority first, then age', async () => {
    const app = await Application.start({ providers: [Work] }, { maxParallelism: 1, queues: ['a', 'b'] });
    const work = app.context.get(Work);
    await app.jobs.pauseQueue('a');
    await app.jobs.pauseQueue('b');
    for (const [queue, priority] of [
      ['a', 0],
      ['b', 5],
      ['b', 0],
      ['a', 5],
    ] as const) {
      await app.jobs.enqueue(Work, (w) => w.short(`${queue}${priority}`), { queue, priority });
    }

    // At once: a claim in between would find one of the queues still paused.
    await Promise.all(['a', 'b'].map((queue) => app.storage.setQueuePaused(queue, false)));
    await eventually(() => work.ran.length === 4 || undefined);

    expect(work.ran).toEqual(['b5', 'a5', 'a0', 'b0']);
  });

  it('costs one read per interval while it has nothing to do, with pushed wake-ups', async () => {
    const app = await Application.start({ providers: [Work] });
    const id = await app.jobs.enqueue(Work, (w) => w.short('only'));
    await app.job(id, 'Succeeded');
    const calls = callsOf(app.storage);

    const last = await eventually(() => {
      const ten = calls.slice(-10);
      return ten.length === 10 && new Set(ten).size === 1 ? ten : undefined;
    });

    expect(last).toEqual(Array(10).fill('probe'));
  });

  it('wakes on a push long before it would look by itself', async () => {
    const app = await Application.start({ providers: [Work] }, { schedulerInterval: 100_000 });
    const work = app.context.get(Work);
    await eventually(() => app.storage.getNodes().then((nodes) => nodes[0]));

    await app.jobs.enqueue(Work, (w) => w.short('pushed'));
    await eventually(() => work.ran[0]);
  });

  it('looks at growing intervals where nothing is pushed, and claims only when it has seen something', async () => {
    const app = await Application.start(
      { providers: [Work] },
      { storage: withoutNotifier(), schedulerInterval: 100_000, minPollDelay: 10, maxPollDelay: 40 },
    );
    const work = app.context.get(Work);
    await eventually(() => app.storage.getNodes().then((nodes) => nodes[0]));
    const calls = callsOf(app.storage);

    await eventually(() => calls.length >= 5 || undefined);
    expect(new Set(calls)).toEqual(new Set(['hasClaimable']));
    await app.jobs.enqueue(Work, (w) => w.short('seen'));
    await eventually(() => work.ran[0]);

    expect(calls).toContain('claim');
  });

  it('takes over what has expired only when a probe has seen it', async () => {
    const app = await Application.start({ providers: [Work] });
    const claim = jest.spyOn(app.storage, 'claim');

    await app.jobs.enqueue(Work, (w) => w.short('first'));
    await eventually(() => claim.mock.calls.length > 1 || undefined);
    const before = claim.mock.calls.map(([request]) => request.expired || request.suspects);
    claim.mockClear();
    probeSays(app.storage, { expired: true });
    await eventually(() => claim.mock.calls.length > 0 || undefined);

    expect(before).not.toContain(true);
    expect(claim.mock.calls[0]![0]).toMatchObject({ expired: true, suspects: false });
  });

  it('gives back what it claimed ahead when the jobs before it take longer than was expected', async () => {
    const app = await Application.start({ providers: [Work] }, { maxParallelism: 1, schedulerInterval: 100 });
    const work = app.context.get(Work);
    const ids: string[] = [];
    await app.jobs.pauseQueue('default');
    for (let job = 0; job < 40; job++) await app.jobs.enqueue(Work, (w) => w.short(`short ${job}`));
    for (let job = 0; job < 8; job++) ids.push(await app.jobs.enqueue(Work, (w) => w.untilOpened(`long ${job}`)));
    await app.jobs.resumeQueue('default');
    const states = async () => (await Promise.all(ids.map((id) => app.storage.getJob(id)))).map((job) => job!.state);
    await eventually(async () => (await states()).filter((state) => state === 'Processing').length > 1 || undefined);

    await eventually(async () => (await states()).filter((state) => state === 'Processing').length === 1 || undefined);

    work.gate.open();
  });

  it('gives back at once what it claimed ahead from a queue that is paused', async () => {
    const app = await Application.start({ providers: [Work] }, { maxParallelism: 1 });
    const work = app.context.get(Work);
    const ids: string[] = [];
    await app.jobs.pauseQueue('default');
    for (let job = 0; job < 40; job++) await app.jobs.enqueue(Work, (w) => w.short(`short ${job}`));
    for (let job = 0; job < 8; job++) ids.push(await app.jobs.enqueue(Work, (w) => w.untilOpened(`long ${job}`)));
    await app.jobs.resumeQueue('default');
    const states = async () => (await Promise.all(ids.map((id) => app.storage.getJob(id)))).map((job) => job!.state);
    await eventually(async () => (await states()).filter((state) => state === 'Processing').length > 1 || undefined);

    // Nothing that waits grows old from here on, which would have it given back for that.
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    await app.jobs.pauseQueue('default');
    await eventually(async () => (await states()).filter((state) => state === 'Processing').length === 1 || undefined);
    work.gate.open();
    await eventually(() => work.ran.includes('long 0') || undefined);

    expect((await states()).slice(1)).toEqual(Array(7).fill('Enqueued'));
  });

  it('claims nothing while the schema is too new for it, and says so once', async () => {
    const errors: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((message: string) => void errors.push(message));
    const app = await Application.start({ providers: [Work] });
    const work = app.context.get(Work);
    const probes = probeSays(app.storage, { schemaTooNew: true });
    await eventually(() => errors[0]);
    const claim = jest.spyOn(app.storage, 'claim');

    const id = await app.jobs.enqueue(Work, (w) => w.short('later'));
    const { calls } = probes;
    const before = calls.length;
    await eventually(() => calls.length > before + 5 || undefined);

    expect(claim).not.toHaveBeenCalled();
    expect(errors).toEqual([expect.stringContaining('schema has become too new')]);
    probes.answer = {};
    await app.job(id, 'Succeeded');
    expect(work.ran).toEqual(['later']);
  });

  it('puts back a job whose handler it lacks, and runs it as soon as a node has it', async () => {
    const warnings: string[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: string) => void warnings.push(message));
    const [storage, clock] = [sharedStorage(), new FakeClock()];
    const producer = await Application.start({ providers: [Work] }, { storage, clock, workerEnabled: false });
    const older = await Application.start({}, { storage, clock });
    const ids: string[] = [];
    for (let job = 0; job < 20; job++) ids.push(await producer.jobs.enqueue(Work, (w) => w.short(`job ${job}`)));

    const put = await Promise.all(ids.map((id) => older.job(id, 'Scheduled')));
    clock.advance('5s');
    const again = await eventually(async () => {
      const job = await older.storage.getJob(ids[0]!);
      return job?.state === 'Scheduled' && job.releases === 2 ? job : undefined;
    });
    const newer = await Application.start({ providers: [Work] }, { storage, clock });
    await older.close();
    clock.advance('10s');
    const done = await Promise.all(ids.map((id) => newer.job(id, 'Succeeded')));

    expect(put[0]!.lastError).toContain('"Work.short"');
    expect(again.dueAt).toEqual(new Date('2026-01-01T00:00:15.000Z'));
    expect(done[0]).toMatchObject({ failures: 0, interruptions: 0, releases: 2 });
    expect(warnings.filter((warning) => warning.includes('Work.short'))).toHaveLength(1);
  });

  it('shares long jobs with another node: read-ahead hoards nothing', async () => {
    const storage = sharedStorage();
    const start = (): Promise<Application> => Application.start({ providers: [Work] }, { storage, maxParallelism: 16 });
    const nodes = [await start(), await start()];

    for (let job = 0; job < 400; job++) await nodes[0]!.jobs.enqueue(Work, (w) => w.lasting(50));
    const shares = () => nodes.map((node) => node.context.get(Work).ran.length) as [number, number];
    const [one, other] = await eventually(() => {
      const ran = shares();
      return ran[0] + ran[1] === 400 ? ran : undefined;
    }, 20_000);

    expect(Math.abs(one - other) / 400).toBeLessThan(0.1);
  }, 30_000);

  it('tells the store of itself, and takes its row away at its end', async () => {
    const storage = sharedStorage();
    const witness = await Application.start({}, { storage, workerEnabled: false, schedulerEnabled: false });
    const app = await Application.start({ providers: [Work] }, { storage, maxParallelism: 7, queues: ['a', 'b'] });

    const node = await eventually(() => app.storage.getNodes().then((nodes) => nodes[0]));
    await app.close();

    expect(node).toMatchObject({
      queues: ['a', 'b'],
      maxParallelism: 7,
      running: 0,
      version: expect.stringMatching(/^\d+\./),
    });
    expect(await witness.storage.getNodes()).toEqual([]);
  });

  it("says when its clock and the database's differ by more than five seconds", async () => {
    const warnings: string[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: string) => void warnings.push(message));
    const clock = new FakeClock(new Date('2026-01-01T00:00:10.000Z'));
    const apart = sharedStorage();
    const storage = {
      provider: apart.provider,
      create: (environment: Parameters<typeof apart.create>[0]) => {
        const created = apart.create(environment);
        probeSays(created.jobs, { databaseTime: new Date('2026-01-01T00:00:04.500Z') });
        return created;
      },
    };

    await Application.start({ providers: [Work] }, { clock, storage });
    await eventually(() => warnings[0]);

    expect(warnings).toEqual([expect.stringContaining("clock is 5.5 s behind this node's")]);
  });
});
