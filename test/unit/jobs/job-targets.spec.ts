import { Injectable } from '@nestjs/common';
import {
  IJobClient,
  InvalidArgumentError,
  InvalidCallError,
  Job,
  JobCtx,
  JobTarget,
  Retry,
  type JobContext,
} from '../../../lib';
import { Application } from './application';

abstract class Notifier {
  abstract notify(id: number): Promise<void>;
}

@Injectable()
class SmsNotifier extends Notifier {
  @Job({ queue: 'sms', priority: 3, retry: Retry.fixed('1s', 2), timeout: '30s' })
  override async notify(_id: number): Promise<void> {}
}

@JobTarget('payments', { queue: 'money', priority: 7, retry: Retry.none, timeout: 5000 })
abstract class Payments {
  abstract capture(id: string): Promise<void>;
}

@Injectable()
class Plain {
  @Job()
  run(): void {}

  other(): void {}
}

class Undecorated {
  run(): void {}
}

describe('A job', () => {
  it('is recorded under the token that the caller named', async () => {
    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: SmsNotifier }] });

    const byToken = await app.job(await app.jobs.enqueue(Notifier, (n) => n.notify(1)));
    const byClass = await app.job(await app.jobs.enqueue(SmsNotifier, (n) => n.notify(1)));

    expect([byToken.handler, byClass.handler]).toEqual(['Notifier.notify', 'SmsNotifier.notify']);
    expect(await app.runAll('sms')).toHaveLength(2);
  });

  it('takes its options from the handler behind an abstract token', async () => {
    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: SmsNotifier }] });

    expect(await app.job(await app.jobs.enqueue(Notifier, (n) => n.notify(1)))).toMatchObject({
      queue: 'sms',
      priority: 3,
      retry: Retry.fixed('1s', 2),
      timeout: 30_000,
    });
  });

  it('takes its options from @JobTarget where the handler is elsewhere', async () => {
    await using app = await Application.start();

    expect(await app.job(await app.jobs.enqueue(Payments, (p) => p.capture('a')))).toMatchObject({
      handler: 'payments.capture',
      queue: 'money',
      priority: 7,
      retry: Retry.none,
      timeout: 5000,
    });
  });

  it('prefers options of the call to those of the handler, and these to those of the target', async () => {
    class Captures extends Payments {
      @Job({ queue: 'captures', priority: 0 })
      override async capture(): Promise<void> {}
    }
    await using app = await Application.start({ providers: [{ provide: Payments, useClass: Captures }] });

    const ids = [
      await app.jobs.enqueue(Payments, (p) => p.capture('a')),
      await app.jobs.enqueue(Payments, (p) => p.capture('a'), {
        queue: 'urgent',
        priority: -1,
        retry: Retry.exponential(2),
        timeout: '1m',
      }),
    ];

    expect(await app.job(ids[0]!)).toMatchObject({ queue: 'captures', priority: 0, retry: Retry.none, timeout: 5000 });
    expect(await app.job(ids[1]!)).toMatchObject({
      queue: 'urgent',
      priority: -1,
      retry: Retry.exponential(2),
      timeout: 60_000,
    });
  });

  it('takes what nobody says from the defaults, and its retry from the node', async () => {
    await using app = await Application.start({ providers: [Plain], options: { defaultRetry: Retry.fixed('1m', 9) } });

    expect(await app.job(await app.jobs.enqueue(Plain, (p) => p.run()))).toMatchObject({
      queue: 'default',
      priority: 0,
      retry: Retry.fixed('1m', 9),
      timeout: null,
    });
  });

  it('uses the name that its method is pinned to, for whichever target', async () => {
    class Named extends Notifier {
      @Job({ name: 'notify' })
      override async notify(): Promise<void> {}
    }
    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: Named }] });

    const jobs = [
      await app.job(await app.jobs.enqueue(Notifier, (n) => n.notify(1))),
      await app.job(await app.jobs.enqueue(Named, (n) => n.notify())),
    ];

    expect(jobs.map(({ handler }) => handler)).toEqual(['notify', 'notify']);
  });

  it('can be enqueued for an abstract token that nothing stands under here', async () => {
    await using app = await Application.start();

    const job = await app.job(await app.jobs.enqueue(Notifier, (n) => n.notify(1)));

    expect(job).toMatchObject({ handler: 'Notifier.notify', queue: 'default' });
  });

  it('can be enqueued for a class that is provided elsewhere', async () => {
    await using app = await Application.start();

    expect(await app.job(await app.jobs.enqueue(SmsNotifier, (n) => n.notify(1)))).toMatchObject({ queue: 'sms' });
  });

  it('takes the options of its handler when it is enqueued while the application still starts', async () => {
    let enqueue: Promise<string> | undefined;
    class Starter {
      onModuleInit(): void {
        enqueue = app?.jobs.enqueue(Notifier, (n) => n.notify(1));
      }
    }
    let app: { jobs: Application['jobs'] } | undefined;
    await using started = await Application.start({
      imports: [
        {
          module: class Feature {},
          providers: [
            { provide: Notifier, useClass: SmsNotifier },
            {
              provide: Starter,
              inject: [IJobClient],
              useFactory: (jobs: Application['jobs']) => {
                app = { jobs };
                return new Starter();
              },
            },
          ],
        },
      ],
    });

    expect(await started.job((await enqueue)!)).toMatchObject({ handler: 'Notifier.notify', queue: 'sms' });
  });

  it('is refused for a method without @Job, whether its class is provided or not', async () => {
    await using app = await Application.start({ providers: [Plain] });

    const provided = app.jobs.enqueue(Plain, (p) => p.other());
    const unknown = app.jobs.enqueue(Undecorated, (u) => u.run());

    await expect(provided).rejects.toThrow(InvalidCallError);
    await expect(provided).rejects.toThrow(
      /Plain\.other is no job\. Add @Job\(\) to the method, or @JobTarget\('name'\)/,
    );
    await expect(unknown).rejects.toThrow(/Undecorated\.run is no job/);
  });

  it('is refused for a token that stands for a provider without such a handler', async () => {
    class Silent extends Notifier {
      override async notify(): Promise<void> {}
    }
    await using app = await Application.start({ providers: [{ provide: Notifier, useClass: Silent }] });

    await expect(app.jobs.enqueue(Notifier, (n) => n.notify(1))).rejects.toThrow(InvalidCallError);
  });

  it('is refused in production for a target whose name a minifier made', async () => {
    const { NODE_ENV } = process.env;
    abstract class t {
      abstract run(): void;
    }
    await using app = await Application.start();
    process.env['NODE_ENV'] = 'production';

    try {
      await expect(app.jobs.enqueue(t, (s) => s.run())).rejects.toThrow(/a minifier made.*: t\./);
    } finally {
      process.env['NODE_ENV'] = NODE_ENV;
    }
  });

  it('leaves out what stands in the place of the context', async () => {
    class WithContext {
      @Job()
      run(_id: string, @JobCtx() _ctx?: JobContext): void {}
    }
    await using app = await Application.start({ providers: [WithContext] });

    const ids = [
      await app.jobs.enqueue(WithContext, (s) => s.run('a')),
      await app.jobs.enqueue(WithContext, (s) => s.run('a', { cannot: () => 'be stored' } as unknown as JobContext)),
    ];

    expect((await app.job(ids[0]!)).args).toBe('["a"]');
    expect(await app.job(ids[1]!)).toMatchObject({ args: '["a",null]', argTypes: null });
  });
});

function declare(options: object) {
  return () => {
    class Handler {
      run(): void {}
    }
    Job(options)(Handler.prototype, 'run', Object.getOwnPropertyDescriptor(Handler.prototype, 'run')!);
  };
}

function decorate(owner: object, key: string | symbol) {
  return () => void Job()(owner, key, Object.getOwnPropertyDescriptor(owner, key)!);
}

describe('@Job', () => {
  it.each<[object, RegExp]>([
    [{ queue: '' }, /queue/],
    [{ priority: 1.5 }, /expected priority in @Job of Handler\.run to be a whole number/],
    [{ priority: 2 ** 31 }, /priority/],
    [{ retry: 5 }, /expected retry in @Job of Handler\.run to be a policy/],
    [{ timeout: 0 }, /expected timeout in @Job of Handler\.run to be longer than 0/],
    [{ timeout: 'soon' }, /timeout/],
    [{ name: ' x' }, /job name/],
    [{ aliases: 'x' }, /aliases/],
    [{ aliases: [''] }, /job name/],
    [{ que: 'x' }, /@Job of Handler\.run has no option "que"/],
  ])('refuses %j', (options, message) => {
    expect(declare(options)).toThrow(InvalidArgumentError);
    expect(declare(options)).toThrow(message);
  });

  it('refuses static methods, getters and symbols', () => {
    class Handler {
      static run(): void {}
      get value(): number {
        return 1;
      }
      [Symbol.iterator](): void {}
    }

    expect(decorate(Handler, 'run')).toThrow(/@Job of Handler\.run: only an instance method/);
    expect(decorate(Handler.prototype, 'value')).toThrow(/only an instance method/);
    expect(decorate(Handler.prototype, Symbol.iterator)).toThrow(/only an instance method/);
  });
});

describe('@JobTarget', () => {
  it.each<[string, object, RegExp]>([
    ['', {}, /job name/],
    ['x', { name: 'y' }, /@JobTarget of Target has no option "name"/],
    ['x', { queue: 5 }, /queue/],
    ['x', { aliases: [5] }, /job name/],
  ])('refuses %j with %j', (name, options, message) => {
    expect(() => JobTarget(name, options)(class Target {})).toThrow(message);
  });
});
