import { Injectable, Logger } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import type { IJobStorage, TransitionResult } from 'nestjs-millrace/storage';
import { Application, eventually, Gate } from './an-application';

const REFUSED = new Error('connection refused');

@Injectable()
class Work {
  executions = 0;
  readonly gate = new Gate();

  @Job({ retry: Retry.none })
  async run(): Promise<void> {
    this.executions++;
  }

  @Job({ retry: Retry.none })
  async untilOpened(): Promise<void> {
    this.executions++;
    await this.gate.opened;
  }

  @Job({ retry: Retry.none })
  async withFollowUp(@JobCtx() context?: JobContext): Promise<void> {
    this.executions++;
    context?.enqueueOnSuccess(Work, (w) => w.run(), { queue: 'nobody-claims-it' });
  }

  @Job({ retry: Retry.fixed(0, 2) })
  async twice(): Promise<void> {
    this.executions++;
  }
}

/** Lets a call of the store fail until the returned function is called. */
function failing(
  storage: IJobStorage,
  name: 'claim' | 'apply' | 'probe' | 'renew',
): { calls: number; mend: () => void } {
  const original = storage[name].bind(storage) as (...args: unknown[]) => Promise<never>;
  const call = jest.spyOn(storage, name) as unknown as jest.SpyInstance<Promise<never>, unknown[]>;
  const state = { calls: 0, broken: true, mend: () => void (state.broken = false) };
  call.mockImplementation((...args) => {
    if (!state.broken) return original(...args);
    state.calls++;
    return Promise.reject(REFUSED);
  });
  return state;
}

/** Lets the store refuse the first `times` transitions that it is given. */
function rejecting(storage: IJobStorage, times: number, error: unknown): void {
  const apply = storage.apply.bind(storage);
  let left = times;
  jest.spyOn(storage, 'apply').mockImplementation(async (transitions) => {
    if (left-- <= 0) return apply(transitions);
    return transitions.map((): TransitionResult => ({ outcome: 'rejected', error }));
  });
}

describe('While the store cannot be reached', () => {
  it('a job that has finished stays finished: it is recorded when the store answers, and not run again', async () => {
    const app = await Application.start({ providers: [Work] }, { heartbeatInterval: 5 });
    const work = app.context.get(Work);
    const apply = failing(app.storage, 'apply');
    const renew = jest.spyOn(app.storage, 'renew');

    const id = await app.jobs.enqueue(Work, (w) => w.run());
    await eventually(() => apply.calls >= 3 || undefined);
    await eventually(() => renew.mock.calls.some(([, claims]) => claims.some((claim) => claim.id === id)) || undefined);
    apply.mend();
    const job = await app.job(id, 'Succeeded');

    expect(work.executions).toBe(1);
    expect(job).toMatchObject({ attempt: 1, failures: 0, lastError: null });
  });

  it('running jobs run on when their renewal fails', async () => {
    const app = await Application.start({ providers: [Work] }, { heartbeatInterval: 5 });
    const work = app.context.get(Work);
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.executions || undefined);

    const renew = failing(app.storage, 'renew');
    await eventually(() => renew.calls >= 3 || undefined);
    work.gate.open();

    await app.job(id, 'Succeeded');
  });

  it('the worker keeps trying, writes no more than a line a second, and works on when it is back', async () => {
    const errors: string[] = [];
    const logged: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((message: string) => void errors.push(message));
    jest.spyOn(Logger.prototype, 'log').mockImplementation((message: string) => void logged.push(message));
    const app = await Application.start({ providers: [Work] });
    const [claim, probe, renew] = (['claim', 'probe', 'renew'] as const).map((name) => failing(app.storage, name));
    const before = performance.now();

    const id = await app.jobs.enqueue(Work, (w) => w.run());
    await eventually(() => (probe!.calls >= 20 && renew!.calls >= 5) || undefined);
    const seconds = (performance.now() - before) / 1000;
    for (const call of [claim, probe, renew]) call!.mend();
    await app.job(id, 'Succeeded');

    expect(errors.length).toBeLessThanOrEqual(1 + Math.ceil(seconds));
    expect(errors[0]).toContain('connection refused');
    await eventually(() => logged.find((line) => line.includes('The store answers again')));
  });
});

describe('When the store cannot take the end of a job', () => {
  it('that becomes a failure of the attempt, under the policy of the job', async () => {
    const app = await Application.start({ providers: [Work] });
    rejecting(app.storage, 1, new Error('the follow-up has no parent'));

    const id = await app.jobs.enqueue(Work, (w) => w.twice());
    const job = await app.job(id, 'Succeeded');

    expect(job).toMatchObject({ attempt: 2, failures: 1 });
    expect(job.lastError).toContain('the follow-up has no parent');
  });

  it('and cannot take that failure either, it is dead with the error', async () => {
    const app = await Application.start({ providers: [Work] });
    rejecting(app.storage, 2, new Error('the follow-up has no parent'));

    const id = await app.jobs.enqueue(Work, (w) => w.twice());
    const job = await app.job(id, 'Dead');

    expect(job).toMatchObject({ attempt: 1, failures: 1 });
    expect(job.lastError).toContain('the follow-up has no parent');
  });

  it('stores nothing of what the handler wanted stored with its success', async () => {
    const app = await Application.start({ providers: [Work] });
    rejecting(app.storage, 1, new Error('no'));

    const id = await app.jobs.enqueue(Work, (w) => w.withFollowUp());
    await app.job(id, 'Dead');

    expect(await app.storage.hasClaimable(['nobody-claims-it'])).toBe(false);
  });
});

/** Values that handlers throw, and what the record should say of them. */
const THROWN: [string, () => unknown, string][] = [
  ['undefined', () => undefined, 'undefined'],
  ['null', () => null, 'null'],
  ['a text', () => 'a text', 'a text'],
  ['a number', () => 42, '42'],
  ['an object', () => ({ code: 1 }), 'code'],
  ['a frozen error', () => Object.freeze(new Error('frozen')), 'frozen'],
  [
    'an error whose message throws',
    () =>
      Object.defineProperty(new Error('x'), 'message', {
        get() {
          throw new Error('no message');
        },
      }),
    'Error',
  ],
];

@Injectable()
class Thrower {
  executions = 0;

  @Job({ retry: Retry.fixed(0, 2) })
  async later(which: number): Promise<void> {
    this.executions++;
    await Promise.resolve();
    throw THROWN[which]![1]();
  }

  @Job({ retry: Retry.fixed(0, 2) })
  // oxlint-disable-next-line typescript/promise-function-async -- a synchronous throw is what is tested
  atOnce(which: number): Promise<void> {
    this.executions++;
    throw THROWN[which]![1]();
  }

  @Job()
  returning(): number {
    return 42;
  }

  @Job()
  async straying(): Promise<void> {
    void Promise.reject(new Error('nobody awaits this'));
  }
}

describe('A handler that throws', () => {
  it.each(THROWN.map(([what, , text], which) => ({ what, text, which })))(
    '$what fails alike at once and later, and the worker goes on',
    async ({ text, which }) => {
      const app = await Application.start({ providers: [Thrower, Work] });

      const ids = [
        await app.jobs.enqueue(Thrower, (t) => t.later(which)),
        await app.jobs.enqueue(Thrower, (t) => t.atOnce(which)),
      ];
      const jobs = await Promise.all(ids.map((id) => app.job(id, 'Dead')));
      const next = await app.jobs.enqueue(Work, (w) => w.run());
      await app.job(next, 'Succeeded');

      expect(app.context.get(Thrower).executions).toBe(4);
      for (const job of jobs) {
        expect(job).toMatchObject({ attempt: 2, failures: 2 });
        expect(job.lastError).toContain(text);
      }
    },
  );

  it('succeeds when it returns something that is no promise', async () => {
    const app = await Application.start({ providers: [Thrower] });

    const id = await app.jobs.enqueue(Thrower, (t) => t.returning() as never);

    await app.job(id, 'Succeeded');
  });
});
