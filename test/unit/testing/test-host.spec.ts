import { Injectable, Module, type Type } from '@nestjs/common';
import {
  IJobClient,
  inMemoryStorage,
  Job,
  JobBatch,
  JobContext,
  JobCtx,
  JobState,
  MillraceModule,
  Retry,
} from 'nestjs-millrace';
import {
  JobFailedError,
  MillraceTestHost,
  type TestHostOptions,
  TooManyExecutionsError,
} from 'nestjs-millrace/testing';

@Injectable()
class Mailer {
  readonly sent: string[] = [];
  readonly times: (Date | null)[] = [];

  constructor(private readonly jobs: IJobClient) {}

  @Job({ retry: Retry.none })
  async send(to: string, @JobCtx() context?: JobContext): Promise<void> {
    this.sent.push(to);
    this.times.push(context?.occurrenceAt ?? null);
  }

  @Job({ retry: Retry.exponential(3) })
  async fail(to: string): Promise<void> {
    this.sent.push(to);
    throw new Error(`cannot reach ${to}`);
  }

  @Job({ retry: Retry.fixed(0, 3) })
  async failAtOnce(): Promise<void> {
    this.sent.push('try');
    throw new Error('no');
  }

  @Job()
  async sendLater(to: string, days: number): Promise<void> {
    this.sent.push(to);
    if (days > 0) await this.jobs.schedule(Mailer, (mailer) => mailer.sendLater(`${to}.`, days - 1), '1d');
  }

  @Job()
  async forEver(): Promise<void> {
    await this.jobs.enqueue(Mailer, (mailer) => mailer.forEver());
  }

  @Job()
  async cancelled(@JobCtx() context?: JobContext): Promise<void> {
    this.sent.push('started');
    await new Promise((_resolve, reject) => {
      context?.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    });
  }

  @Job({ retry: Retry.none, timeout: 5 })
  async endless(): Promise<void> {
    await new Promise(() => undefined);
  }

  @Job()
  async cancelOther(id: string): Promise<void> {
    await this.jobs.cancel(id);
  }
}

function aHost(options: TestHostOptions = {}): Promise<MillraceTestHost> {
  return MillraceTestHost.create({ providers: [Mailer], ...options });
}

describe('MillraceTestHost.runUntilIdle', () => {
  it('runs what was enqueued, and nothing before it is called', async () => {
    await using millrace = await aHost();
    const mailer = millrace.get(Mailer);
    await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'));
    const before = [...mailer.sent];

    const executions = await millrace.runUntilIdle();

    expect(before).toEqual([]);
    expect(executions).toBe(1);
    expect(mailer.sent).toEqual(['ada']);
  });

  it('runs a continuation in the same call as its parent', async () => {
    await using millrace = await aHost();
    const parent = await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'));
    await millrace.jobs.continueWith(parent, Mailer, (m) => m.send('grace'));

    expect(await millrace.runUntilIdle()).toBe(2);
    expect(millrace.get(Mailer).sent).toEqual(['ada', 'grace']);
  });

  it('runs retries without delay in the same call, and counts each', async () => {
    await using millrace = await aHost();
    const id = await millrace.jobs.enqueue(Mailer, (m) => m.failAtOnce());

    expect(await millrace.runUntilIdle({ throwOnFailure: false })).toBe(3);
    expect(await millrace.getJob(id)).toMatchObject({ state: JobState.Dead, failures: 3, attempt: 3 });
  });

  it('leaves a failed job with retries left for its delay, without throwing', async () => {
    await using millrace = await aHost();
    const id = await millrace.jobs.enqueue(Mailer, (m) => m.fail('ada'));

    expect(await millrace.runUntilIdle()).toBe(1);
    expect(await millrace.getJob(id)).toMatchObject({ state: JobState.Failed, failures: 1 });
    await millrace.advanceTime('1h');
    expect(await millrace.runUntilIdle()).toBe(1);
  });

  it('throws what a job died of, and leaves no other job claimed', async () => {
    await using millrace = await aHost();
    const [dead, other] = await millrace.jobs.enqueueBatch(
      new JobBatch()
        .enqueue(Mailer, (m) => m.fail('ada'), { retry: Retry.none })
        .enqueue(Mailer, (m) => m.send('grace')),
    );

    const error = await millrace.runUntilIdle().catch((thrown: unknown) => thrown);
    const between = await millrace.getJob(other!);
    const executions = await millrace.runUntilIdle();

    expect(error).toBeInstanceOf(JobFailedError);
    expect(error).toMatchObject({ job: { id: dead, state: 'Dead' }, cause: new Error('cannot reach ada') });
    expect((error as Error).message).toContain('Mailer.fail');
    expect(between?.state).toBe(JobState.Enqueued);
    expect(executions).toBe(1);
  });

  it('takes the jobs of every queue, also those that the application does not claim from', async () => {
    await using millrace = await aHost();
    await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'), { queue: 'payments' });
    await millrace.jobs.enqueue(Mailer, (m) => m.send('grace'), { queue: '__proto__', priority: 5 });

    expect(await millrace.runUntilIdle()).toBe(2);
    expect(millrace.get(Mailer).sent).toEqual(['grace', 'ada']);
  });

  it('leaves the jobs of a paused queue', async () => {
    await using millrace = await aHost();
    await millrace.jobs.pauseQueue('payments');
    await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'), { queue: 'payments' });

    expect(await millrace.runUntilIdle()).toBe(0);
    await millrace.jobs.resumeQueue('payments');
    expect(await millrace.runUntilIdle()).toBe(1);
  });

  it('says so when a job enqueues itself for ever', async () => {
    await using millrace = await aHost();
    await millrace.jobs.enqueue(Mailer, (m) => m.forEver());

    await expect(millrace.runUntilIdle()).rejects.toThrow(TooManyExecutionsError);
  });

  it('cancels a running job of which it hears that it should stop, and drops its outcome', async () => {
    await using millrace = await aHost();
    const mailer = millrace.get(Mailer);
    const id = await millrace.jobs.enqueue(Mailer, (m) => m.cancelled());
    const running = millrace.runUntilIdle();
    while (mailer.sent.length === 0) await new Promise((resolve) => setImmediate(resolve));

    await millrace.jobs.cancel(id);

    expect(await running).toBe(1);
    expect(await millrace.getJob(id)).toMatchObject({ state: JobState.Cancelled, failures: 0 });
  });

  it('lets a job fail whose time is up', async () => {
    await using millrace = await aHost();
    const id = await millrace.jobs.enqueue(Mailer, (m) => m.endless());

    await millrace.runUntilIdle({ throwOnFailure: false });

    expect(await millrace.getJob(id)).toMatchObject({ state: JobState.Dead, failures: 1 });
  });

  it('does not run a job that another one cancels first', async () => {
    await using millrace = await aHost();
    const [target] = await millrace.jobs.enqueueBatch(new JobBatch().enqueue(Mailer, (m) => m.send('ada')));
    await millrace.jobs.enqueue(Mailer, (m) => m.cancelOther(target!), { priority: 5 });

    expect(await millrace.runUntilIdle()).toBe(1);
    expect(millrace.get(Mailer).sent).toEqual([]);
  });
});

describe('MillraceTestHost and time', () => {
  it('starts at the first of January 2026 unless it is told otherwise', async () => {
    await using first = await aHost();
    await using second = await aHost({ startingAt: new Date('2030-05-05T05:05:05.000Z') });

    expect(first.clock.now()).toEqual(new Date('2026-01-01T00:00:00.000Z'));
    expect(second.clock.now()).toEqual(new Date('2030-05-05T05:05:05.000Z'));
  });

  it('makes a delayed job claimable when its time has come, and does not run it by itself', async () => {
    await using millrace = await aHost();
    const id = await millrace.jobs.schedule(Mailer, (m) => m.send('ada'), '7d');

    expect(await millrace.runUntilIdle()).toBe(0);
    await millrace.advanceTime('7d');
    expect((await millrace.getJob(id))?.state).toBe(JobState.Enqueued);
    expect(millrace.get(Mailer).sent).toEqual([]);
    expect(await millrace.runUntilIdle()).toBe(1);
  });

  it('fires a recurring definition once, however many occurrences were passed over', async () => {
    await using millrace = await aHost();
    await millrace.jobs.upsertRecurring('nightly', '0 3 * * *', Mailer, (m) => m.send('report'));

    await millrace.advanceTime('3d');

    expect(await millrace.runUntilIdle()).toBe(1);
  });

  it('steps through every due moment in order', async () => {
    await using millrace = await aHost();
    const mailer = millrace.get(Mailer);
    await millrace.jobs.upsertRecurring('nightly', '0 3 * * *', Mailer, (m) => m.send('report'));
    await millrace.jobs.schedule(Mailer, (m) => m.sendLater('chain', 2), '30h');

    const executions = await millrace.advanceAndRun('3d');

    expect(mailer.sent).toEqual(['report', 'report', 'chain', 'report', 'chain.']);
    expect(executions).toBe(5);
    expect(mailer.times.map((time) => time?.toISOString())).toEqual([
      '2026-01-01T03:00:00.000Z',
      '2026-01-02T03:00:00.000Z',
      '2026-01-03T03:00:00.000Z',
    ]);
    expect(millrace.clock.now()).toEqual(new Date('2026-01-04T00:00:00.000Z'));
  });

  it('steps over retries, and passes on what may die', async () => {
    await using millrace = await aHost();
    const id = await millrace.jobs.enqueue(Mailer, (m) => m.fail('ada'));

    expect(await millrace.advanceAndRun('1d', { throwOnFailure: false })).toBe(3);
    expect(await millrace.getJob(id)).toMatchObject({ state: JobState.Dead, failures: 3 });
    await millrace.jobs.enqueue(Mailer, (m) => m.fail('grace'));
    await expect(millrace.advanceAndRun('1d')).rejects.toThrow(JobFailedError);
  });

  it('reaches its end also where what became due cannot run', async () => {
    await using millrace = await aHost();
    await millrace.jobs.upsertRecurring('nightly', '0 3 * * *', Mailer, (m) => m.send('report'));
    await millrace.jobs.pauseQueue('default');

    await millrace.advanceAndRun('2d');

    expect(millrace.clock.now()).toEqual(new Date('2026-01-03T00:00:00.000Z'));
  });
});

abstract class Transport {
  abstract deliver(text: string): void;
}

@Injectable()
class Smtp extends Transport {
  override deliver(): void {
    throw new Error('no network in tests');
  }
}

@Injectable()
class Newsletter {
  constructor(private readonly transport: Transport) {}

  @Job({ retry: Retry.none })
  async send(): Promise<void> {
    this.transport.deliver('news');
  }
}

@Module({ providers: [Newsletter, { provide: Transport, useClass: Smtp }] })
class NewsletterModule {}

const refusing = {
  provider: 'production',
  create: () => {
    throw new Error('the production store was opened');
  },
};

@Module({
  imports: [MillraceModule.forRoot({ storage: refusing, interruptionLimit: 3, queues: ['mail'] }), NewsletterModule],
})
class AppModule {}

@Module({
  imports: [MillraceModule.forRootAsync({ useFactory: async () => ({ storage: refusing }) }), NewsletterModule],
})
class AsyncAppModule {}

function moduleOf(...imports: Type[]): Type {
  class OuterModule {}
  Module({ imports })(OuterModule);
  return OuterModule;
}

@Injectable()
class Recorder extends Transport {
  readonly delivered: string[] = [];

  constructor(readonly jobs: IJobClient) {
    super();
  }

  override deliver(text: string): void {
    this.delivered.push(text);
  }
}

describe('MillraceTestHost and an application', () => {
  it.each([
    ['forRoot', AppModule],
    ['forRootAsync', AsyncAppModule],
    ['a forRoot further down', moduleOf(moduleOf(AppModule))],
    ['no registration of its own', NewsletterModule],
  ])('hosts a module with %s, on a store and a clock of its own', async (_what, application) => {
    const delivered: string[] = [];
    const transport = { deliver: (text: string) => void delivered.push(text) };
    await using millrace = await MillraceTestHost.create({
      imports: [application],
      overrides: [{ provide: Transport, useValue: transport }],
    });

    await millrace.jobs.schedule(Newsletter, (newsletter) => newsletter.send(), '1h');
    await millrace.advanceTime('1h');

    expect(await millrace.runUntilIdle()).toBe(1);
    expect(delivered).toEqual(['news']);
  });

  it.each([
    ['a class', { provide: Transport, useClass: Recorder }],
    ['a factory', { provide: Transport, inject: [IJobClient], useFactory: (jobs: IJobClient) => new Recorder(jobs) }],
  ])('takes %s for a provider of the application', async (_what, replacement) => {
    await using millrace = await MillraceTestHost.create({ imports: [AppModule], overrides: [replacement] });

    await millrace.jobs.enqueue(Newsletter, (newsletter) => newsletter.send());
    await millrace.runUntilIdle();

    expect(millrace.get(Transport)).toMatchObject({ delivered: ['news'] });
  });

  it('applies what joins a transaction at once', async () => {
    await using millrace = await aHost();
    const transaction = { query: async () => [], isTransactionActive: true };

    await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'), { transaction });

    expect(await millrace.runUntilIdle()).toBe(1);
  });

  it('runs on the store that it is given', async () => {
    await using millrace = await aHost({ storage: inMemoryStorage(), options: { maxPayloadBytes: 100 } });

    await millrace.jobs.enqueue(Mailer, (m) => m.send('ada'));

    expect(await millrace.runUntilIdle()).toBe(1);
  });
});
