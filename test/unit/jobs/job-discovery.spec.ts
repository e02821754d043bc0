import { Controller, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { assert, asyncProperty, stringMatching } from 'fast-check';
import { DuplicateHandlerError, Job, JobTarget, UnstableHandlerNameError } from '../../../lib';
import { Application, moduleOf } from './application';

@Injectable()
class EmailSender {
  @Job({ queue: 'mail' })
  async sendConfirmation(): Promise<void> {}

  @Job()
  sendReminder(): void {}

  format(): string {
    return 'not a job';
  }
}

abstract class Notifier {
  abstract notify(): Promise<void>;
}

@Injectable()
class SmsNotifier extends Notifier {
  @Job()
  override async notify(): Promise<void> {}
}

describe('Discovery', () => {
  it('finds the @Job methods of a provider and no others', async () => {
    await using app = await Application.start({ providers: [EmailSender] });

    expect(app.jobs.getHandlerNames()).toEqual(['EmailSender.sendConfirmation', 'EmailSender.sendReminder']);
  });

  it('records a handler under whatever name its method has', async () => {
    await assert(
      asyncProperty(stringMatching(/^[a-z][a-zA-Z0-9]{2,20}$/), async (method) => {
        class Handler {}
        Object.defineProperty(Handler.prototype, method, { value: () => undefined, configurable: true });
        Job()(Handler.prototype, method, Object.getOwnPropertyDescriptor(Handler.prototype, method)!);

        await using app = await Application.start({ providers: [Handler] });

        expect(app.jobs.getHandlerNames()).toEqual([`Handler.${method}`]);
      }),
      { numRuns: 25 },
    );
  });

  it('looks into every module', async () => {
    const inner = moduleOf('Inner', { providers: [SmsNotifier] });

    await using app = await Application.start({
      imports: [moduleOf('Outer', { imports: [inner], providers: [EmailSender] })],
    });

    expect(app.jobs.getHandlerNames()).toHaveLength(3);
  });

  it.each([
    ['a class', { provide: EmailSender, useClass: EmailSender }],
    ['a value', { provide: EmailSender, useValue: new EmailSender() }],
    ['a factory', { provide: EmailSender, useFactory: () => new EmailSender() }],
    ['an asynchronous factory', { provide: EmailSender, useFactory: async () => new EmailSender() }],
  ])('knows %s by what it resolves to', async (_, provider) => {
    await using app = await Application.start({ providers: [provider] });
    await app.jobs.enqueue(EmailSender, (s) => s.sendConfirmation());

    expect(app.jobs.getHandlerNames()).toContain('EmailSender.sendConfirmation');
    expect(await app.runAll('mail')).toHaveLength(1);
  });

  it('knows a class behind an abstract token by both names', async () => {
    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: SmsNotifier }] });

    expect(app.jobs.getHandlerNames()).toEqual(['Notifier.notify', 'SmsNotifier.notify']);
  });

  it('knows a factory behind an abstract token by both names', async () => {
    await using app = await Application.start({
      providers: [{ provide: Notifier, useFactory: () => new SmsNotifier() }],
    });

    expect(app.jobs.getHandlerNames()).toEqual(['Notifier.notify', 'SmsNotifier.notify']);
  });

  it('runs jobs of an alias on the provider that it stands for', async () => {
    const lines: string[] = [];
    await using app = await Application.start({
      providers: [SmsNotifier, { provide: Notifier, useExisting: SmsNotifier }],
      lines,
    });

    expect(app.registry.get('Notifier.notify')?.source).toEqual({ kind: 'instance', instance: app.get(SmsNotifier) });
    expect(lines).toEqual([]);
  });

  it.each(['MAILER', Symbol('mailer')])('records the class alone behind the token %p', async (token) => {
    await using app = await Application.start({ providers: [{ provide: token, useClass: EmailSender }] });

    expect(app.jobs.getHandlerNames()).toEqual(['EmailSender.sendConfirmation', 'EmailSender.sendReminder']);
  });

  it('finds inherited methods, also where a subclass overrides them without decorator', async () => {
    class Base {
      @Job()
      async run(): Promise<string> {
        return 'base';
      }
    }
    class First extends Base {}
    class Second extends Base {
      override async run(): Promise<string> {
        return 'second';
      }
    }

    await using app = await Application.start({ providers: [First, Second] });

    expect(app.jobs.getHandlerNames()).toEqual(['First.run', 'Second.run']);
  });

  it('finds handlers on controllers and on modules', async () => {
    @Controller('orders')
    class OrdersController {
      @Job()
      close(): void {}
    }
    @Module({ controllers: [OrdersController] })
    class OrdersModule {
      @Job()
      sweep(): void {}
    }

    await using app = await Application.start({ imports: [OrdersModule] });

    expect(app.jobs.getHandlerNames()).toEqual(['OrdersController.close', 'OrdersModule.sweep']);
  });

  it('finds request-scoped and transient handlers, and those that depend on such, without an instance', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @Job()
      run(): void {}
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class PerUse {
      @Job()
      run(): void {}
    }
    @Injectable()
    class Dependent {
      constructor(@Inject(PerRequest) readonly scoped: PerRequest) {}

      @Job()
      run(): void {}
    }
    const factory = {
      provide: EmailSender,
      scope: Scope.REQUEST,
      inject: [REQUEST],
      useFactory: () => new EmailSender(),
    };
    const alias = { provide: Notifier, useExisting: ScopedNotifier };

    await using app = await Application.start({
      providers: [PerRequest, PerUse, Dependent, factory, ScopedNotifier, alias],
    });

    expect(app.jobs.getHandlerNames()).toEqual([
      'Dependent.run',
      'EmailSender.sendConfirmation',
      'EmailSender.sendReminder',
      'Notifier.notify',
      'PerRequest.run',
      'PerUse.run',
      'ScopedNotifier.notify',
    ]);
  });

  it('touches nothing of what the application provides', async () => {
    const touched: string[] = [];
    const trap = new Proxy(
      {},
      {
        get: (_, property) => {
          if (typeof property === 'string' && !property.startsWith('on') && !property.startsWith('before'))
            touched.push(property);
          return undefined;
        },
      },
    );
    class WithGetters {
      get connection(): never {
        throw new Error('the getter ran');
      }

      @Job()
      run(): void {}
    }

    await using app = await Application.start({ providers: [{ provide: 'TRAP', useValue: trap }, WithGetters] });

    expect(app.jobs.getHandlerNames()).toEqual(['WithGetters.run']);
    expect(touched.filter((property) => property !== 'then' && property !== 'constructor')).toEqual([]);
  });

  it.each([[null], [undefined], [5], ['text'], [Object.create(null)], [[]], [() => 1]])(
    'passes over the value %p',
    async (value) => {
      await using app = await Application.start({ providers: [{ provide: 'VALUE', useValue: value }, EmailSender] });

      expect(app.jobs.getHandlerNames()).toHaveLength(2);
    },
  );

  it('keeps a handler whose method another decorator has replaced', async () => {
    class Handler {
      @Traced()
      @Job()
      run(): void {}
    }

    await using app = await Application.start({ providers: [Handler] });

    expect(app.jobs.getHandlerNames()).toEqual(['Handler.run']);
  });
});

describe('Recorded names', () => {
  it('can be pinned on a class and on a method', async () => {
    @JobTarget('email')
    class Sender {
      @Job()
      send(): void {}

      @Job({ name: 'remind-by-mail' })
      remind(): void {}
    }

    await using app = await Application.start({ providers: [Sender] });

    expect(app.jobs.getHandlerNames()).toEqual(['email.send', 'remind-by-mail']);
  });

  it('of a pinned method include its token, since a process that only enqueues may know nothing else', async () => {
    class Sender extends Notifier {
      @Job({ name: 'notify-by-sms' })
      override async notify(): Promise<void> {}
    }

    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: Sender }] });

    expect(app.registry.get('Notifier.notify')).toBe(app.registry.get('notify-by-sms'));
  });

  it('pinned on a class are not those of its subclasses', async () => {
    @JobTarget('base')
    abstract class Base {
      @Job()
      run(): void {}
    }
    class One extends Base {}
    class Two extends Base {}

    await using app = await Application.start({ providers: [One, Two] });

    expect(app.jobs.getHandlerNames()).toEqual(['One.run', 'Two.run']);
  });

  it('have aliases, which are looked up and never recorded', async () => {
    @JobTarget('email', { aliases: ['Mailer', 'OldMailer'] })
    class Sender {
      @Job({ aliases: ['legacy-send'] })
      send(): void {}
    }

    await using app = await Application.start({ providers: [Sender] });
    const handler = app.registry.get('email.send');

    expect(['Mailer.send', 'OldMailer.send', 'legacy-send'].map((name) => app.registry.get(name))).toEqual(
      Array(3).fill(handler),
    );
    expect(app.registry.get('Mailer.other')).toBeUndefined();
    expect(app.jobs.getHandlerNames()).toEqual(['email.send']);
  });

  it('of two different classes stop the start, naming both', async () => {
    const start = Application.start({
      imports: [moduleOf('Billing', { providers: [billingSync()] }), moduleOf('Auth', { providers: [authSync()] })],
    });

    await expect(start).rejects.toThrow(DuplicateHandlerError);
    await expect(start).rejects.toThrow(
      /"SyncService\.run": SyncService of Billing and SyncService of Auth\..*@JobTarget\('name'\) on the class or @Job\(\{ name \}\)/,
    );
  });

  it('of two classes of one name do not clash where one of them is pinned', async () => {
    const pinned = billingSync();
    JobTarget('billing')(pinned);
    const named = authSync('auth-sync');

    await using app = await Application.start({
      imports: [moduleOf('Billing', { providers: [pinned] }), moduleOf('Auth', { providers: [named] })],
    });

    expect(app.jobs.getHandlerNames()).toEqual(['auth-sync', 'billing.run']);
  });

  it('of two classes that are both pinned by method are not found by their class', async () => {
    await using app = await Application.start({
      imports: [
        moduleOf('Billing', { providers: [authSync('billing-sync')] }),
        moduleOf('Auth', { providers: [authSync('auth-sync')] }),
      ],
    });

    expect(app.registry.get('SyncService.run')).toBeUndefined();
  });

  it('that are pinned twice stop the start', async () => {
    class One {
      @Job({ name: 'same' })
      run(): void {}
    }
    class Two {
      @Job({ name: 'same' })
      run(): void {}
    }

    await expect(Application.start({ providers: [One, Two] })).rejects.toThrow(/"same": One of .* and Two of/);
  });

  it('that are the alias of another class stop the start', async () => {
    class One {
      @Job()
      run(): void {}
    }
    class Two {
      @Job({ aliases: ['One.run'] })
      run(): void {}
    }

    await expect(Application.start({ providers: [Two, One] })).rejects.toThrow(DuplicateHandlerError);
  });

  it('of a class that two modules provide are a warning, and the first one runs', async () => {
    const imports = [moduleOf('First', { providers: [EmailSender] }), moduleOf('Second', { providers: [EmailSender] })];
    const lines: string[] = [];

    await using app = await Application.start({ imports, lines });

    expect(lines).toContainEqual(
      expect.stringMatching(/EmailSender is provided by First and by Second: .* run on the one of First/),
    );
    expect(app.jobs.getHandlerNames()).toHaveLength(2);
  });

  describe('that a minifier made', () => {
    const { NODE_ENV } = process.env;
    afterEach(() => {
      process.env['NODE_ENV'] = NODE_ENV;
    });

    it('stop the start in production', async () => {
      process.env['NODE_ENV'] = 'production';

      await expect(Application.start({ providers: [minified()] })).rejects.toThrow(UnstableHandlerNameError);
      await expect(Application.start({ providers: [minified()] })).rejects.toThrow(/\be\b.*@JobTarget\('name'\)/);
    });

    it('are a warning elsewhere', async () => {
      const lines: string[] = [];

      await using _ = await Application.start({ providers: [minified()], lines });

      expect(lines).toContainEqual(expect.stringContaining('a minifier made'));
    });

    it('do no harm where they are pinned', async () => {
      process.env['NODE_ENV'] = 'production';
      const byClass = minified();
      JobTarget('email')(byClass);

      await using app = await Application.start({ providers: [byClass, minified('remind')] });

      expect(app.jobs.getHandlerNames()).toEqual(['email.run', 'remind']);
    });
  });
});

@Injectable({ scope: Scope.REQUEST })
class ScopedNotifier extends Notifier {
  @Job()
  override async notify(): Promise<void> {}
}

/** A decorator that puts another function in the method's place. */
function Traced(): MethodDecorator {
  return (_, __, descriptor) => {
    const original = descriptor.value as unknown as () => unknown;
    return { ...descriptor, value: (() => original()) as never };
  };
}

function billingSync() {
  class SyncService {
    @Job()
    run(): void {}
  }
  return SyncService;
}

function authSync(name?: string) {
  class SyncService {
    @Job({ name })
    run(): void {}
  }
  return SyncService;
}

function minified(name?: string) {
  class e {
    @Job({ name })
    run(): void {}
  }
  return e;
}
