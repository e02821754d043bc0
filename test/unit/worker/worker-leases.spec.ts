import { Injectable, Logger } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { type ClaimedJob, type ClaimRequest, FakeClock, IMonitoringStorage, MINUTE } from 'nestjs-millrace/storage';
import { JobAbortedError } from '../../../lib/worker/worker.errors';
import { Application, eventually, Gate, sharedStorage } from './an-application';

@Injectable()
class Work {
  readonly started: number[] = [];
  readonly reasons: unknown[] = [];
  readonly gates: Gate[] = [];
  running = 0;
  mostRunning = 0;

  /** Runs until the test opens the gate of its attempt, and notes why it was asked to stop. */
  @Job({ retry: Retry.none })
  async untilOpened(@JobCtx() context?: JobContext): Promise<void> {
    const gate = new Gate();
    this.gates.push(gate);
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    context?.signal.addEventListener('abort', () => this.reasons.push(context.signal.reason));
    this.started.push(context?.attempt ?? 0);
    await gate.opened;
    this.running--;
  }

  @Job({ retry: Retry.none })
  async short(): Promise<void> {}

  @Job({ retry: Retry.none })
  async spin(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    while (performance.now() < until);
  }
}

async function anApplication(options = {}, clock = new FakeClock()) {
  const storage = sharedStorage();
  const app = await Application.start({ providers: [Work] }, { clock, storage, heartbeatInterval: 5, ...options });
  return { app, clock, storage, work: app.context.get(Work), details: app.context.get(IMonitoringStorage) };
}

function claimBy(workerId: string, fields: Partial<ClaimRequest> = {}): ClaimRequest {
  const request = { workerId, queues: ['default'], limit: 10, leaseDuration: 5 * MINUTE, maxPayload: 2 ** 20 };
  return { ...request, expired: true, suspects: true, ...fields };
}

/** Lets executions of all jobs vanish: workers that claim them and are never heard of again. */
async function vanish(app: Application, clock: FakeClock, times: number): Promise<void> {
  for (let round = 0; round <= times; round++) {
    for (let found = 1; found > 0;) found = (await app.storage.claim(claimBy(`crashed ${round}`))).length;
    clock.advance(5 * MINUTE);
  }
}

describe('Leases', () => {
  it('are renewed while the handler runs', async () => {
    const { app, clock, work } = await anApplication();
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.started[0]);

    clock.advance(4 * MINUTE);
    const renewed = await eventually(async () => {
      const job = await app.storage.getJob(id);
      return job!.leaseUntil!.getTime() === clock.now().getTime() + 5 * MINUTE ? job! : undefined;
    });

    expect(renewed).toMatchObject({ state: 'Processing', attempt: 1 });
    work.gates[0]!.open();
    await app.job(id, 'Succeeded');
  });

  it('abort the handler when they are lost, and its outcome is dropped', async () => {
    const { app, clock, work } = await anApplication({ schedulerInterval: 100_000 });
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.started[0]);
    jest.spyOn(app.storage, 'renew').mockRejectedValueOnce(new Error('connection refused'));
    clock.advance(5 * MINUTE);

    await app.storage.claim(claimBy('survivor'));
    await eventually(() => work.reasons[0]);
    work.gates[0]!.open();
    const other = await app.jobs.enqueue(Work, (w) => w.short());
    await app.job(other, 'Succeeded');

    expect(work.reasons).toEqual([new JobAbortedError(id, 'leaseLost')]);
    expect(await app.storage.getJob(id)).toMatchObject({ state: 'Processing', workerId: 'survivor', attempt: 2 });
  });

  it('that this node takes over from itself abort the older execution, and only the newer counts', async () => {
    const { app, clock, work } = await anApplication();
    jest.spyOn(app.storage, 'renew').mockRejectedValue(new Error('connection refused'));
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.started[0]);

    clock.advance(5 * MINUTE);
    await eventually(() => work.started[1]);
    work.gates[0]!.open();
    await eventually(() => work.running === 1 || undefined);
    const whileNewerRuns = await app.storage.getJob(id);
    work.gates[1]!.open();
    const job = await app.job(id, 'Succeeded');

    expect(work.reasons).toEqual([new JobAbortedError(id, 'superseded')]);
    expect(whileNewerRuns).toMatchObject({ state: 'Processing', attempt: 2 });
    expect(job).toMatchObject({ attempt: 2, interruptions: 1, failures: 0 });
  });

  it('are released at once where a claim was made whose answer was lost', async () => {
    const { app, work } = await anApplication({ heartbeatInterval: 60_000, minPollDelay: 5 });
    const claim = app.storage.claim.bind(app.storage);
    const claimed: ClaimedJob[] = [];
    jest.spyOn(app.storage, 'claim').mockImplementation(async (request) => {
      const jobs = await claim(request);
      if (jobs.length === 0 || claimed.length > 0) return jobs;
      claimed.push(...jobs);
      throw new Error('connection lost');
    });

    const id = await app.jobs.enqueue(Work, (w) => w.short());
    const job = await app.job(id, 'Succeeded');

    expect(claimed.map((lost) => lost.id)).toEqual([id]);
    expect(job).toMatchObject({ attempt: 2, releases: 1, interruptions: 0 });
    expect(work.started).toEqual([]);
  });
});

describe('Cancellation', () => {
  it('reaches a running job at once, which is Cancelled while its handler still runs', async () => {
    const { app, work } = await anApplication({ heartbeatInterval: 60_000 });
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.started[0]);

    const apply = jest.spyOn(app.storage, 'apply');

    expect(await app.jobs.cancel(id)).toBe(true);
    const job = await app.job(id, 'Cancelled');
    const { running } = work;
    work.gates[0]!.open();
    const other = await app.jobs.enqueue(Work, (w) => w.short());
    await app.job(other, 'Succeeded');

    expect(work.reasons).toEqual([new JobAbortedError(id, 'cancelled')]);
    expect(running).toBe(1);
    expect(job).toMatchObject({ failures: 0, lastError: 'Cancelled on request.' });
    expect(apply.mock.calls.flatMap(([batch]) => batch).map(({ target }) => target)).toEqual([
      'Cancelled',
      'Succeeded',
    ]);
  });

  it('reaches it by the next renewal where the store pushes nothing', async () => {
    const { app, work } = await anApplication();
    const getJob = jest.spyOn(app.storage, 'getJob').mockRejectedValue(new Error('connection refused'));
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.started[0]);

    await app.storage.cancel(id);
    await eventually(() => work.reasons[0]);
    getJob.mockRestore();

    await app.job(id, 'Cancelled');
    work.gates[0]!.open();
  });

  it('ends a job unexecuted that was asked to stop before it was claimed anew', async () => {
    const { app, clock, storage, work } = await anApplication({ queues: ['elsewhere'] });
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await app.storage.claim(claimBy('crashed'));
    await app.storage.cancel(id);
    clock.advance(5 * MINUTE);

    const second = await Application.start({ providers: [Work] }, { clock, storage: storage });
    await app.job(id, 'Cancelled');

    expect([...work.started, ...second.context.get(Work).started]).toEqual([]);
  });
});

describe('Jobs that end their process', () => {
  it('are dead-lettered unexecuted above the limit', async () => {
    const clock = new FakeClock();
    const { app, storage, details } = await anApplication({ queues: ['elsewhere'] }, clock);
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await vanish(app, clock, 3);

    const node = await Application.start({ providers: [Work] }, { clock, storage: storage, interruptionLimit: 3 });
    const job = await app.job(id, 'Dead');

    expect(node.context.get(Work).started).toEqual([]);
    expect(job).toMatchObject({ failures: 0, interruptions: 4, attempt: 5 });
    expect(job.lastError).toContain('Poisoned');
    expect((await details.getJobDetails(id))!.attempts).toHaveLength(4);
  });

  it('run one at a time once they are suspects, and the others beside them', async () => {
    const clock = new FakeClock();
    const { app, storage } = await anApplication({ queues: ['elsewhere'] }, clock);
    const suspects: string[] = [];
    for (let job = 0; job < 3; job++) suspects.push(await app.jobs.enqueue(Work, (w) => w.untilOpened()));
    await vanish(app, clock, 2);
    const good: string[] = [];
    for (let job = 0; job < 20; job++) good.push(await app.jobs.enqueue(Work, (w) => w.short()));

    const node = await Application.start({ providers: [Work] }, { clock, storage: storage, maxParallelism: 2 });
    const work = node.context.get(Work);
    for (const id of good) await app.job(id, 'Succeeded');
    for (let run = 0; run < 3; run++) {
      await eventually(() => work.gates[run]);
      work.gates[run]!.open();
    }
    const ended = await Promise.all(suspects.map((id) => app.job(id, 'Succeeded')));

    expect(work.mostRunning).toBe(1);
    expect(ended.map(({ releases }) => releases)).toEqual([0, 0, 0]);
  });

  it('wait until the success of the one before is stored: the next may end the process', async () => {
    const clock = new FakeClock();
    const { app, storage } = await anApplication({ queues: ['elsewhere'] }, clock);
    for (let job = 0; job < 2; job++) await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await vanish(app, clock, 2);
    const stored = new Gate();
    const apply = app.storage.apply.bind(app.storage);
    const applying = jest.spyOn(app.storage, 'apply').mockImplementation(async (transitions) => {
      await stored.opened;
      return apply(transitions);
    });
    const probing = jest.spyOn(app.storage, 'probe');

    const node = await Application.start({ providers: [Work] }, { clock, storage: storage, maxParallelism: 2 });
    const work = node.context.get(Work);
    (await eventually(() => work.gates[0])).open();
    await eventually(() => applying.mock.calls[0]);
    const probes = probing.mock.calls.length;
    await eventually(() => probing.mock.calls.length > probes + 3);

    expect(work.gates).toHaveLength(1);
    stored.open();
    (await eventually(() => work.gates[1])).open();
  });
});

describe('A blocked event loop', () => {
  it('is reported with the job that blocked it and the length of the stall, once', async () => {
    const warnings: string[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: string) => void warnings.push(message));
    // Its leases end by a clock that stands still, so that none is lost however long the stall becomes.
    const { app } = await anApplication({ leaseDuration: 900, heartbeatInterval: 100 });

    const id = await app.jobs.enqueue(Work, (w) => w.spin(700));
    await app.job(id, 'Succeeded');
    const naming = await eventually(() => {
      const found = warnings.filter((warning) => warning.includes(`Work.spin (${id})`));
      return found.length > 0 ? found : undefined;
    });

    expect(naming).toEqual([expect.stringMatching(/blocked for \d+\.\d s, while leases of 0\.9 s/)]);
    const [, seconds] = /blocked for (\S+) s/.exec(naming[0]!)!;
    expect(Number(seconds)).toBeGreaterThanOrEqual(0.6); // it is looked at every 75 ms
  });
});
