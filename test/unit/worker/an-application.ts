import { type INestApplicationContext, Logger, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { IJobClient, inMemoryStorage, MillraceModule, type MillraceOptionsLayer } from 'nestjs-millrace';
import { IJobStorage, type JobRecord, type StorageRegistration } from 'nestjs-millrace/storage';

Logger.overrideLogger(false);
// Two busy cores may take seconds over what takes milliseconds alone.
jest.setTimeout(30_000);

/** Intervals that a test need not wait for. */
const QUICK: MillraceOptionsLayer = {
  schedulerInterval: 10,
  minPollDelay: 5,
  maxPollDelay: 20,
  shutdownTimeout: 2000,
  shutdownGrace: 100,
};

/** The root module of an application with Millrace and what a test adds. */
export function anAppModule(metadata: ModuleMetadata, options: MillraceOptionsLayer = {}): Type {
  const { imports = [], ...others } = metadata;
  class AppModule {}
  Module({
    imports: [MillraceModule.forRoot({ storage: inMemoryStorage() }, QUICK, options), ...imports],
    ...others,
  })(AppModule);
  return AppModule;
}

/** A started application whose worker runs. It is closed when its test ends. */
export class Application {
  private static readonly started: Application[] = [];
  readonly jobs: IJobClient;
  readonly storage: IJobStorage;

  private constructor(readonly context: INestApplicationContext) {
    this.jobs = context.get(IJobClient);
    this.storage = context.get(IJobStorage);
  }

  static async start(metadata: ModuleMetadata, options: MillraceOptionsLayer = {}): Promise<Application> {
    const AppModule = anAppModule(metadata, options);
    return Application.keep(await NestFactory.createApplicationContext(AppModule, { logger: false }));
  }

  /** Starts one in which something else stands in for a provider of Millrace's own. */
  static async startWith(token: Type | (abstract new () => unknown), stand: object): Promise<Application> {
    const builder = Test.createTestingModule({ imports: [anAppModule({})] });
    const module = await builder.overrideProvider(token).useValue(stand).compile();
    return Application.keep(await module.init());
  }

  private static keep(context: INestApplicationContext): Application {
    const app = new Application(context);
    Application.started.push(app);
    return app;
  }

  static async closeAll(): Promise<void> {
    jest.restoreAllMocks();
    await Promise.all(Application.started.splice(0).map((app) => app.close()));
  }

  /** The job once it is in one of these states. */
  job(id: string, ...states: JobRecord['state'][]): Promise<JobRecord> {
    return eventually(async () => {
      const job = await this.storage.getJob(id);
      return job !== null && states.includes(job.state) ? job : undefined;
    });
  }

  close(): Promise<void> {
    return this.context.close();
  }
}

afterEach(() => Application.closeAll());

/** A store that outlives the applications that open it, as a database does; each sees the same jobs. */
export function sharedStorage(registration: StorageRegistration = inMemoryStorage()): StorageRegistration {
  let shared: ReturnType<StorageRegistration['create']> | undefined;
  return {
    provider: registration.provider,
    create(environment) {
      const storage = (shared ??= registration.create(environment));
      return {
        jobs: storage.jobs,
        workflows: storage.workflows,
        monitoring: storage.monitoring,
        notifier: storage.notifier,
        open: () => storage.open(),
        close: async () => undefined,
        getInfo: () => storage.getInfo(),
      };
    },
  };
}

/** A store that pushes no wake-ups. */
export function withoutNotifier(registration: StorageRegistration = inMemoryStorage()): StorageRegistration {
  const shared = sharedStorage(registration);
  return { provider: shared.provider, create: (environment) => ({ ...shared.create(environment), notifier: null }) };
}

/** Waits until `look` answers something; a condition that never comes fails the test, also where it stops `performance`. */
export async function eventually<T>(look: () => T | undefined | Promise<T | undefined>, within = 20_000): Promise<T> {
  const until = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > until) throw new Error(`Not seen within ${within} ms: ${look.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A promise that the test resolves. */
export class Gate {
  private release: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => (this.release = resolve));

  open(): void {
    this.release();
  }
}
