import { Injectable } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { IJobStorage, IMonitoringStorage, type JobDetails } from 'nestjs-millrace/storage';
import { JobAbortedError } from '../../../lib/worker/worker.errors';
import { Application, eventually, Gate, sharedStorage } from './an-application';

@Injectable()
class Work {
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly reasons: unknown[] = [];
  readonly gate = new Gate();

  @Job({ retry: Retry.none })
  async short(name: string): Promise<void> {
    this.started.push(name);
    this.ended.push(name);
  }

  @Job({ retry: Retry.none })
  async untilOpened(name: string): Promise<void> {
    this.started.push(name);
    await this.gate.opened;
    this.ended.push(name);
  }

  /** Never settles, and never looks at its signal. */
  @Job({ retry: Retry.none })
  async stubborn(@JobCtx() context?: JobContext): Promise<void> {
    this.started.push('stubborn');
    context?.signal.addEventListener('abort', () => this.reasons.push(context.signal.reason));
    await new Promise(() => undefined);
  }

  @Job({ retry: Retry.none })
  async polite(wrapped: boolean, @JobCtx() context?: JobContext): Promise<void> {
    this.started.push('polite');
    try {
      await new Promise((_resolve, reject) => {
        context?.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
      });
    } catch (cause) {
      if (!wrapped) throw cause;
      throw new Error('the download broke off', { cause });
    }
  }

  @Job({ retry: Retry.none })
  async clumsy(@JobCtx() context?: JobContext): Promise<void> {
    this.started.push('clumsy');
    await new Promise((resolve) => context?.signal.addEventListener('abort', resolve));
    throw new Error('out of memory');
  }
}

async function anApplication(options = {}) {
  const storage = sharedStorage();
  const app = await Application.start(
    { providers: [Work] },
    { storage, shutdownTimeout: 50, shutdownGrace: 50, ...options },
  );
  const monitoring = app.context.get(IMonitoringStorage);
  return {
    app,
    work: app.context.get(Work),
    details: async (id: string): Promise<JobDetails> => (await monitoring.getJobDetails(id))!,
  };
}

describe('Shutdown', () => {
  it('lets the short jobs finish beside one that never settles', async () => {
    const { app, work } = await anApplication({ maxParallelism: 2 });
    await app.jobs.enqueue(Work, (w) => w.stubborn());

    for (let job = 0; job < 20; job++) await app.jobs.enqueue(Work, (w) => w.short(`short ${job}`));
    await eventually(() => work.ended.length === 20 || undefined);

    await app.close();
  });

  it('aborts what does not finish in time, and gives it back', async () => {
    const { app, work, details } = await anApplication({ shutdownTimeout: 100, shutdownGrace: 100 });
    const id = await app.jobs.enqueue(Work, (w) => w.stubborn());
    await eventually(() => work.started[0]);

    await app.close();

    expect(work.reasons).toEqual([new JobAbortedError(id, 'shutdown')]);
    const job = await details(id);
    expect(job).toMatchObject({ state: 'Enqueued', failures: 0, releases: 1, interruptions: 0, leaseUntil: null });
    expect(job.attempts).toMatchObject([{ attempt: 1, outcome: 'Interrupted', error: null }]);
  });

  it.each([false, true])(
    'gives back what stops because it was aborted; wrapped in its own error: %s',
    async (wrapped) => {
      const { app, work, details } = await anApplication({ shutdownGrace: 100_000 });
      const id = await app.jobs.enqueue(Work, (w) => w.polite(wrapped));
      await eventually(() => work.started[0]);

      await app.close(); // it does not wait until the grace is over

      expect(await details(id)).toMatchObject({ state: 'Enqueued', failures: 0, releases: 1, lastError: null });
    },
  );

  it('records a failure that has nothing to do with the abort', async () => {
    const { app, work, details } = await anApplication();
    const id = await app.jobs.enqueue(Work, (w) => w.clumsy());
    await eventually(() => work.started[0]);

    await app.close();

    const job = await details(id);
    expect(job).toMatchObject({ state: 'Dead', failures: 1 });
    expect(job.lastError).toContain('out of memory');
  });

  it('gives back what it had claimed ahead, without a trace in the history, and starts none of it', async () => {
    const { app, work, details } = await anApplication({ maxParallelism: 1, shutdownTimeout: 5000 });
    const ids: string[] = [];
    await app.jobs.pauseQueue('default');
    for (let job = 0; job < 40; job++) await app.jobs.enqueue(Work, (w) => w.short(`short ${job}`));
    for (let job = 0; job < 8; job++) ids.push(await app.jobs.enqueue(Work, (w) => w.untilOpened(`long ${job}`)));
    await app.jobs.resumeQueue('default');
    await eventually(() => work.started.includes('long 0') || undefined);
    const ahead = await eventually(async () => {
      const jobs = await Promise.all(ids.slice(1).map((id) => details(id)));
      return jobs.some(({ state }) => state === 'Processing') ? jobs : undefined;
    });

    const claimed = ahead.find(({ state }) => state === 'Processing')!;

    const closing = app.close();
    await eventually(async () => (await details(claimed.id)).state === 'Enqueued' || undefined);
    work.gate.open();
    await closing;

    expect(work.ended.filter((name) => name.startsWith('long'))).toEqual(['long 0']);
    expect(await details(ids[0]!)).toMatchObject({ state: 'Succeeded' });
    expect((await details(claimed.id)).releases).toBeGreaterThan(0);
    for (const { id } of ahead)
      expect(await details(id)).toMatchObject({ state: 'Enqueued', failures: 0, attempts: [] });
  });

  it('gives back what a claim brings that was under way', async () => {
    const { app, work, details } = await anApplication();
    const storage = app.context.get(IJobStorage);
    const gate = new Gate();
    const claiming = new Gate();
    const claim = storage.claim.bind(storage);
    jest.spyOn(storage, 'claim').mockImplementation(async (request) => {
      const jobs = await claim(request);
      if (jobs.length > 0) {
        claiming.open();
        await gate.opened;
      }
      return jobs;
    });
    const id = await app.jobs.enqueue(Work, (w) => w.short('too late'));
    await claiming.opened;

    const closing = app.close();
    setTimeout(() => gate.open(), 10);
    await closing;

    expect(work.started).toEqual([]);
    expect(await details(id)).toMatchObject({ state: 'Enqueued', releases: 1, attempts: [] });
  });

  it('begins no claim once it has begun', async () => {
    const { app, work } = await anApplication({ shutdownTimeout: 100 });
    await app.jobs.enqueue(Work, (w) => w.stubborn());
    await eventually(() => work.started[0]);

    const closing = app.close();
    const claim = jest.spyOn(app.storage, 'claim');
    await app.jobs.enqueue(Work, (w) => w.short('after'));
    await closing;

    expect(claim).not.toHaveBeenCalled();
    expect(work.started).toEqual(['stubborn']);
  });

  it('keeps renewing leases while it drains', async () => {
    const { app, work } = await anApplication({ shutdownTimeout: 2000, heartbeatInterval: 5 });
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened('slow'));
    await eventually(() => work.started[0]);

    const closing = app.close();
    const renew = jest.spyOn(app.storage, 'renew');
    await eventually(() => renew.mock.calls.length > 2 || undefined);
    work.gate.open();
    await closing;

    expect(renew.mock.calls[0]![1]).toEqual([{ id, attempt: 1 }]);
  });

  it('ends in bounded time where the store answers no more', async () => {
    const { app, work } = await anApplication({ shutdownTimeout: 100, shutdownGrace: 50 });
    await app.jobs.enqueue(Work, (w) => w.untilOpened('finished'));
    await eventually(() => work.started[0]);
    for (const call of ['apply', 'claim', 'renew', 'probe', 'removeNode'] as const) {
      jest.spyOn(app.storage, call).mockRejectedValue(new Error('connection refused'));
    }
    work.gate.open();

    await expect(app.close()).resolves.toBeUndefined();
  });
});
