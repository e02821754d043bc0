import { Injectable, Logger, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { IJobClient, Job, JobContext, JobCtx } from 'nestjs-millrace';
import { IJobStorage, type StorageRegistration } from 'nestjs-millrace/storage';
import { ApplicationLifecycle } from '../../../lib/worker/application-lifecycle';
import { WorkerContext } from '../../../lib/worker/worker-context';
import { anAppModule, Application, eventually, Gate, sharedStorage } from './an-application';

/** A client of the application, such as a database's: useless once it is closed. */
@Injectable()
class Client implements OnModuleDestroy {
  closed = false;

  onModuleDestroy(): void {
    this.closed = true;
  }
}

@Module({ providers: [Client], exports: [Client] })
class ClientModule {}

@Injectable()
class Orders {
  readonly started = new Gate();
  readonly finish = new Gate();
  readonly seen: boolean[] = [];

  constructor(
    private readonly client: Client,
    private readonly jobs: IJobClient,
  ) {}

  @Job()
  async confirm(): Promise<void> {
    this.started.open();
    await this.finish.opened;
    this.seen.push(this.client.closed);
    await this.jobs.enqueue(Orders, (orders) => orders.notify());
  }

  @Job({ queue: 'nobody-claims-it' })
  async notify(): Promise<void> {}
}

async function closeWhileConfirming(
  app: Application,
): Promise<{ seen: boolean[]; state: string | undefined; followUps: number }> {
  const orders = app.context.get(Orders);
  const { storage } = app;
  const id = await app.jobs.enqueue(Orders, (o) => o.confirm());
  await orders.started.opened;
  const closing = app.close();
  setImmediate(() => orders.finish.open());
  const states: (string | undefined)[] = [];
  const close = jest.spyOn(storage, 'removeNode').mockImplementation(async () => {
    states.push((await storage.getJob(id))?.state);
    followUps = (await storage.hasClaimable(['nobody-claims-it'])) ? 1 : 0;
  });
  let followUps = 0;
  await closing;
  close.mockRestore();
  return { seen: orders.seen, state: states[0], followUps };
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

describe('The end of an application', () => {
  it("lets a running handler finish before any feature module's onModuleDestroy, with what it enqueues", async () => {
    const app = await Application.start({ imports: [ClientModule], providers: [Orders] });

    const { seen, state, followUps } = await closeWhileConfirming(app);

    expect(seen).toEqual([false]);
    expect(state).toBe('Succeeded');
    expect(followUps).toBe(1);
    expect(app.context.get(Client).closed).toBe(true);
  });

  it("lets it finish before the onModuleDestroy of the root module's own providers, too", async () => {
    const app = await Application.start({ providers: [Client, Orders] });

    const { seen } = await closeWhileConfirming(app);

    expect(seen).toEqual([false]);
  });

  it('is the same end for whoever closes while it closes, and for a second close', async () => {
    const app = await Application.start({ imports: [ClientModule], providers: [Orders] });
    const orders = app.context.get(Orders);
    await app.jobs.enqueue(Orders, (o) => o.confirm());
    await orders.started.opened;
    const apply = jest.spyOn(app.storage, 'apply');

    const closings = [app.close(), app.close()];
    orders.finish.open();
    await Promise.all(closings);
    const calls = apply.mock.calls.length;
    await app.close();

    expect(orders.seen).toEqual([false]);
    expect(apply.mock.calls).toHaveLength(calls);
  });

  it('leaves no timer behind', async () => {
    const before = timers();
    const app = await Application.start({ imports: [ClientModule], providers: [Orders] });
    await eventually(() => timers() > before || undefined);

    await app.close();

    expect(timers()).toBe(before);
  });
});

@Injectable()
class SlowModule implements OnApplicationBootstrap {
  readonly ready = new Gate();
  booted = false;

  async onApplicationBootstrap(): Promise<void> {
    await this.ready.opened;
    this.booted = true;
  }
}

@Injectable()
class Early {
  readonly sawBooted: boolean[] = [];

  constructor(private readonly slow: SlowModule) {}

  @Job()
  async run(): Promise<void> {
    this.sawBooted.push(this.slow.booted);
  }
}

describe('The start of an application', () => {
  it('claims nothing before the onApplicationBootstrap of every module has ended', async () => {
    const module = await Test.createTestingModule({
      imports: [anAppModule({ providers: [SlowModule, Early] })],
    }).compile();
    const storage = module.get(IJobStorage);
    const claim = jest.spyOn(storage, 'claim');
    const probe = jest.spyOn(storage, 'probe');
    await module.get(IJobClient).enqueue(Early, (early) => early.run());

    const starting = module.init();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = claim.mock.calls.length + probe.mock.calls.length;
    module.get(SlowModule).ready.open();
    await starting;
    await eventually(() => module.get(Early).sawBooted[0]);
    await module.close();

    expect(before).toBe(0);
    expect(module.get(Early).sawBooted).toEqual([true]);
  });

  it('is told in one line: which worker, how much at a time, from which queues and which store', async () => {
    const logged: string[] = [];
    jest.spyOn(Logger.prototype, 'log').mockImplementation((line: string) => {
      if (line.startsWith('Worker ')) logged.push(line); // Nest writes lines of its own
    });
    const app = await Application.start({}, { queues: ['default', 'mail'], maxParallelism: 7 });
    const { id } = app.context.get(WorkerContext, { strict: false });
    await eventually(() => logged[0]);
    await Application.start({}, { workerEnabled: false });
    const shared = sharedStorage();
    const create: StorageRegistration['create'] = (environment) => ({
      ...shared.create(environment),
      getInfo: () => Promise.reject(new Error('connection refused')),
    });
    await Application.start({}, { storage: { ...shared, create } });
    await eventually(() => logged[1]);

    expect(logged).toEqual([
      `Worker ${id} runs up to 7 jobs at a time from the queues default, mail; ` +
        `store: in-memory (Node.js ${process.versions.node}).`,
      expect.stringMatching(/^Worker .+ runs up to 20 jobs at a time from the queue default; store: in-memory\.$/),
    ]);
  });

  it('starts nothing of an application that is closed while it starts', async () => {
    const lifecycle = new ApplicationLifecycle();
    const start = jest.fn();
    lifecycle.join({ start, stop: async () => undefined });

    await lifecycle.stop();
    lifecycle.start();

    expect(start).not.toHaveBeenCalled();
  });
});

@Injectable()
class Greeter {
  readonly greeted: string[] = [];

  @Job()
  async greet(name: string, @JobCtx() context?: JobContext): Promise<void> {
    this.greeted.push(`${name} at attempt ${context?.attempt}`);
  }
}

describe('Every kind of application', () => {
  const AppModule = anAppModule({ providers: [Greeter] });

  it.each([
    ['NestFactory.createApplicationContext', () => NestFactory.createApplicationContext(AppModule, { logger: false })],
    ['NestFactory.create and init', async () => (await NestFactory.create(AppModule, { logger: false })).init()],
    [
      'NestFactory.create and listen',
      async () => {
        const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
        await app.listen(0, '127.0.0.1');
        return app;
      },
    ],
    [
      'Test.createTestingModule',
      async () => (await Test.createTestingModule({ imports: [AppModule] }).compile()).init(),
    ],
    [
      'Test.createTestingModule and createNestApplication',
      async () => (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication().init(),
    ],
  ])('runs jobs from its start to its end: %s', async (_kind, create) => {
    const app = await create();
    const greeter = app.get(Greeter);

    await app.get(IJobClient).enqueue(Greeter, (g) => g.greet('Ada'));
    await eventually(() => greeter.greeted[0]);
    await app.close();

    expect(greeter.greeted).toEqual(['Ada at attempt 1']);
  });
});
