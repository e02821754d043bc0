import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamicModule, Global, Inject, Injectable, Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  IClock,
  IJobClient,
  inMemoryStorage,
  InvalidArgumentError,
  ITenantContext,
  Job,
  JobContext,
  MILLRACE_OPTIONS,
  type MillraceOptions,
  MillraceModule,
  type MillraceOptionsFactory,
  type MillraceOptionsLayer,
  type ResolvedMillraceOptions,
  SecondRegistrationError,
  StorageUnavailableError,
} from '../../../lib';
import { MILLRACE_OPTION_OVERRIDES, MILLRACE_STORAGE } from '../../../lib/millrace.module-definition';
import { FakeClock } from '../../../lib/model/time';
import { IJobStorage } from '../../../lib/storage/job-storage';
import { IMonitoringStorage } from '../../../lib/storage/monitoring-storage';
import type { Storage, StorageRegistration } from '../../../lib/storage/storage';
import { DriverNotInstalledError } from '../../../lib/storage/storage.errors';
import { IWorkflowStorage } from '../../../lib/storage/workflow-storage';

const IDLE: MillraceOptionsLayer = { workerEnabled: false, schedulerEnabled: false };

/** An application under test; `await using` closes it. */
class Started implements AsyncDisposable {
  constructor(
    readonly module: TestingModule,
    readonly lines: readonly string[],
  ) {}

  get<T>(token: abstract new (...args: never[]) => T): T {
    return this.module.get<T>(token, { strict: false });
  }

  get options(): ResolvedMillraceOptions {
    return this.module.get<ResolvedMillraceOptions>(MILLRACE_OPTIONS, { strict: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.module.close();
  }
}

async function start(
  imports: (DynamicModule | Type)[],
  providers: Type[] = [],
  overrides?: MillraceOptionsLayer,
): Promise<Started> {
  const lines: string[] = [];
  const note = (message: unknown): void => void lines.push(String(message));
  const builder = Test.createTestingModule({ imports, providers });
  builder.setLogger({ log: () => undefined, debug: () => undefined, warn: note, error: note });
  if (overrides !== undefined) builder.overrideProvider(MILLRACE_OPTION_OVERRIDES).useValue(overrides);
  const module = await builder.compile();
  await module.init();
  return new Started(module, lines);
}

/** The in-memory store, opening as `open` says, and noting what becomes of it. */
function storageThat(open: () => Promise<void>, events: string[] = []): StorageRegistration {
  const registration = inMemoryStorage();
  return {
    provider: 'postgres',
    create: (environment) => {
      const storage: Storage = registration.create(environment);
      const [opened, closed] = [storage.open.bind(storage), storage.close.bind(storage)];
      return Object.assign(storage, {
        open: async () => {
          events.push('open');
          await open();
          await opened();
        },
        close: async () => {
          events.push('close');
          await closed();
        },
      });
    },
  };
}

@Injectable()
class EmailSender {
  constructor(readonly jobs: IJobClient) {}

  @Job()
  async send(): Promise<void> {}
}

describe('MillraceModule.forRoot', () => {
  it('gives every module the client, and itself to whoever asks for a port', async () => {
    const clock = new FakeClock();
    @Module({ providers: [EmailSender] })
    class FeatureModule {}

    await using app = await start([
      MillraceModule.forRoot({ storage: inMemoryStorage(), clock, ...IDLE }),
      FeatureModule,
    ]);

    const storage = app.module.get<Storage>(MILLRACE_STORAGE, { strict: false });
    const { jobs } = app.get(EmailSender);
    expect(jobs).toBe(app.get(IJobClient));
    expect(app.get(IClock)).toBe(clock);
    expect(app.get(ITenantContext)).toBe(app.options.tenants);
    expect(app.get(JobContext)).toMatchObject({ active: false });
    expect([app.get(IJobStorage), app.get(IWorkflowStorage), app.get(IMonitoringStorage)]).toEqual([
      storage.jobs,
      storage.workflows,
      storage.monitoring,
    ]);
  });

  it('takes layers, the later ones winning key by key', async () => {
    await using app = await start([
      MillraceModule.forRoot(
        { storage: inMemoryStorage(), queues: ['a'], maxParallelism: 3, ...IDLE },
        { queues: ['b'] },
      ),
    ]);

    expect(app.options).toMatchObject({ queues: ['b'], maxParallelism: 3 });
  });

  it('lets a test host override options from outside', async () => {
    const storage = inMemoryStorage();
    const clock = new FakeClock();

    await using app = await start(
      [MillraceModule.forRoot({ storage: storageThat(() => Promise.reject(new Error('no server'))), queues: ['a'] })],
      [],
      { storage, clock, ...IDLE },
    );

    expect(app.options).toMatchObject({ storage, clock, queues: ['a'], workerEnabled: false });
  });

  it('stops the start for a wrong option', async () => {
    const wrong = start([MillraceModule.forRoot({ storage: inMemoryStorage(), maxParallelism: 0 })]);

    await expect(wrong).rejects.toThrow(InvalidArgumentError);
    await expect(start([MillraceModule.forRoot()])).rejects.toThrow(/expected storage to be a registration/);
  });

  it('stops the start where it is called twice, and names both places', async () => {
    const events: string[] = [];
    const register = () => MillraceModule.forRoot({ storage: storageThat(async () => undefined, events), ...IDLE });
    const first = register();
    @Module({ imports: [MillraceModule.forRootAsync({ useFactory: () => ({ storage: inMemoryStorage() }) })] })
    class FeatureModule {}

    const twice = start([first, FeatureModule]);

    await expect(twice).rejects.toThrow(SecondRegistrationError);
    await expect(twice).rejects.toThrow(
      /registered 2 times in one application: \S+module\.spec\.ts:\d+:\d+ and \S+module\.spec\.ts:\d+:\d+\. Register it once/,
    );
    expect(events).toEqual([]);
  });

  it('is one registration however often its result is imported', async () => {
    const millrace = MillraceModule.forRoot({ storage: inMemoryStorage(), ...IDLE });
    @Module({ imports: [millrace] })
    class FeatureModule {}

    await using app = await start([millrace, FeatureModule]);

    expect(app.get(IJobClient)).toBeDefined();
  });
});

describe('MillraceModule.forRootAsync', () => {
  @Injectable()
  class Config {
    readonly queues = ['from-config'];
  }
  @Global()
  @Module({ providers: [Config], exports: [Config] })
  class ConfigModule {}

  @Injectable()
  class ConfiguredMillrace implements MillraceOptionsFactory {
    constructor(@Inject(Config) private readonly config: Config) {}

    async createMillraceOptions(): Promise<MillraceOptions> {
      return { storage: inMemoryStorage(), queues: this.config.queues, ...IDLE };
    }
  }
  @Module({ providers: [ConfiguredMillrace], exports: [ConfiguredMillrace] })
  class ExistingModule {}

  it.each<[string, () => DynamicModule]>([
    [
      'a factory',
      () =>
        MillraceModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: async (config: Config) => ({ storage: inMemoryStorage(), queues: config.queues, ...IDLE }),
        }),
    ],
    ['a class', () => MillraceModule.forRootAsync({ imports: [ConfigModule], useClass: ConfiguredMillrace })],
    [
      'an existing provider',
      () => MillraceModule.forRootAsync({ imports: [ExistingModule], useExisting: ConfiguredMillrace }),
    ],
  ])('takes its options from %s', async (_, register) => {
    await using app = await start([ConfigModule, register()], [EmailSender]);

    expect(app.options.queues).toEqual(['from-config']);
    await expect(app.get(IJobClient).enqueue(EmailSender, (s) => s.send())).resolves.toEqual(expect.any(String));
  });
});

describe('The store', () => {
  it('is open before any hook of the application runs, and closed after them', async () => {
    const events: string[] = [];
    @Injectable()
    class Hooks {
      constructor(@Inject(IJobClient) private readonly jobs: IJobClient) {}

      async onModuleInit(): Promise<void> {
        await this.note('onModuleInit');
      }

      async onApplicationBootstrap(): Promise<void> {
        await this.note('onApplicationBootstrap');
      }

      async onModuleDestroy(): Promise<void> {
        await this.note('onModuleDestroy');
      }

      async beforeApplicationShutdown(): Promise<void> {
        await this.note('beforeApplicationShutdown');
      }

      private async note(hook: string): Promise<void> {
        await this.jobs.enqueue(EmailSender, (s) => s.send());
        events.push(hook);
      }
    }

    const app = await start(
      [MillraceModule.forRoot({ storage: storageThat(() => sleep(20), events), ...IDLE })],
      [EmailSender, Hooks],
    );
    await app.module.close();

    expect(events).toEqual([
      'open',
      'onModuleInit',
      'onApplicationBootstrap',
      'onModuleDestroy',
      'beforeApplicationShutdown',
      'close',
    ]);
  });

  it('is tried again while it cannot be reached, with one warning', async () => {
    let tries = 0;
    const storage = storageThat(async () => {
      if (++tries < 3) throw new Error('connect ECONNREFUSED 127.0.0.1:5432');
    });

    await using app = await start([MillraceModule.forRoot({ storage, ...IDLE })]);

    expect(tries).toBe(3);
    expect(app.lines).toEqual([
      'The postgres store cannot be reached; trying for 30 s: Error: connect ECONNREFUSED 127.0.0.1:5432',
    ]);
  });

  it.each<[string, () => Promise<void>, RegExp]>([
    ['cannot be reached', () => Promise.reject(new Error('ECONNREFUSED')), /within 0\.3 s: Error: ECONNREFUSED/],
    [
      'answers nothing at all',
      () => new Promise<void>(() => undefined),
      /within 0\.3 s: Error: opening it did not end/,
    ],
  ])('that %s stops the start with one clear error', async (_, open, message) => {
    const events: string[] = [];
    const storage = storageThat(open, events);

    const begun = performance.now();
    const failing = start([MillraceModule.forRoot({ storage, startupTimeout: 300, ...IDLE })]);

    await expect(failing).rejects.toThrow(StorageUnavailableError);
    await expect(failing).rejects.toThrow(message);
    expect(performance.now() - begun).toBeLessThan(2000);
    expect(events.filter((event) => event === 'close').length).toBe(events.length / 2);
  });

  it('is not tried again where waiting does not help', async () => {
    const events: string[] = [];
    const storage = storageThat(() => Promise.reject(new DriverNotInstalledError('pg')), events);

    await expect(start([MillraceModule.forRoot({ storage, ...IDLE })])).rejects.toThrow(/npm i pg/);

    expect(events).toEqual(['open', 'close']);
  });

  it('is closed where the application does not start for its handlers', async () => {
    const events: string[] = [];
    class Twin {
      @Job({ name: 'same' })
      run(): void {}
    }
    class OtherTwin {
      @Job({ name: 'same' })
      run(): void {}
    }

    const failing = start(
      [MillraceModule.forRoot({ storage: storageThat(async () => undefined, events), ...IDLE })],
      [Twin, OtherTwin],
    );

    await expect(failing).rejects.toThrow(/Two handlers are recorded as "same"/);
    expect(events).toEqual(['open', 'close']);
  });
});
