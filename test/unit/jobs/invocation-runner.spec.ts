// oxlint-disable unicorn/no-thenable -- handlers may return one
import { Inject, Injectable, Scope } from '@nestjs/common';
import {
  type ContextId,
  ContextIdFactory,
  type ContextIdStrategy,
  type HostComponentInfo,
  REQUEST,
} from '@nestjs/core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { of, Subject, throwError } from 'rxjs';
import { ITenantContext, Job, JobContext, JobCtx, JobTimeoutError } from '../../../lib';
import { Application } from './application';

/** Calls that handlers of this file noted, newest last. */
let seen: unknown[] = [];
beforeEach(() => {
  seen = [];
});

@Injectable()
class Recorder {
  readonly self = this;

  @Job()
  async note(...values: unknown[]): Promise<void> {
    seen.push(this.self === this, values);
  }
}

describe('Running a job', () => {
  it('calls the method on its provider with the arguments that were passed', async () => {
    await using app = await Application.start({ providers: [Recorder] });
    await app.jobs.enqueue(Recorder, (r) => r.note('a', new Date(5), 12n, new Map([[1, new Set([undefined])]])));

    await app.runAll();

    expect(seen).toEqual([true, ['a', new Date(5), 12n, new Map([[1, new Set([undefined])]])]]);
  });

  it('puts the context where the method asks for it', async () => {
    class Handler {
      @Job()
      run(_id: string, _optional?: string, @JobCtx() ctx?: JobContext): void {
        seen.push(ctx?.jobId, ctx?.attempt);
      }
    }
    await using app = await Application.start({ providers: [Handler] });
    const id = await app.jobs.enqueue(Handler, (h) => h.run('a'));

    await app.runAll();

    expect(seen).toEqual([id, 1]);
  });

  it('makes the context and the tenant ambient, across awaits and for what is injected', async () => {
    @Injectable()
    class Service {
      constructor(
        @Inject(JobContext) private readonly context: JobContext,
        @Inject(ITenantContext) private readonly tenants: ITenantContext,
      ) {}

      async look(): Promise<unknown[]> {
        await nextTurn();
        return [this.context.active, this.context.jobId, this.context.tenantId, this.tenants.current()];
      }
    }
    @Injectable()
    class Handler {
      constructor(@Inject(Service) private readonly service: Service) {}

      @Job()
      async run(): Promise<void> {
        seen.push(await this.service.look());
      }
    }
    await using app = await Application.start({ providers: [Service, Handler] });
    const tenants = app.get(ITenantContext);
    const ofTenant = await tenants.run('acme', () => app.jobs.enqueue(Handler, (h) => h.run()));
    const ofNobody = await app.jobs.enqueue(Handler, (h) => h.run());

    await tenants.run('outer', () => app.runAll());

    expect(seen).toEqual([
      [true, ofTenant, 'acme', 'acme'],
      [true, ofNobody, null, null],
    ]);
    expect([tenants.current(), app.get(JobContext).active]).toEqual([null, false]);
  });

  it.each<[string, () => unknown]>([
    [
      'an Error',
      () => {
        throw new Error('x');
      },
    ],
    [
      'undefined',
      () => {
        throw undefined;
      },
    ], // oxlint-disable-line no-throw-literal
    [
      'null',
      () => {
        throw null;
      },
    ], // oxlint-disable-line no-throw-literal
    [
      'a frozen Error',
      () => {
        throw Object.freeze(new Error('x'));
      },
    ],
  ])('rejects with %s in the same way, thrown at once or later', async (_, fail) => {
    class Handler {
      @Job()
      atOnce(): void {
        fail();
      }

      @Job()
      async later(): Promise<void> {
        await nextTurn();
        fail();
      }

      @Job()
      inObservable(): unknown {
        return throwError(() => {
          try {
            return fail();
          } catch (error) {
            return error;
          }
        });
      }
    }
    await using app = await Application.start({ providers: [Handler] });
    await app.jobs.enqueue(Handler, (h) => h.atOnce());
    await app.jobs.enqueue(Handler, (h) => h.later());
    await app.jobs.enqueue(Handler, (h) => h.inObservable());
    let expected: unknown;
    try {
      fail();
    } catch (error) {
      expected = error;
    }

    for (const job of await app.claim()) await expect(app.run(job)).rejects.toEqual(expected);
  });

  it.each<[string, () => unknown]>([
    ['nothing', () => undefined],
    ['a value', () => 5],
    ['a value in a promise', async () => ({ then: 5 })],
    ['an empty Observable', () => of()],
    ['an Observable in a promise', async () => of(1, 2)],
    ['a thenable', () => ({ then: (resolve: () => void) => resolve() })],
    ['what cannot be stored', () => () => 1],
    [
      'an object that throws when one looks at it',
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error('looked at');
            },
          },
        ),
    ],
  ])('succeeds where a handler returns %s', async (_, result) => {
    class Handler {
      @Job()
      run(): unknown {
        return result();
      }
    }
    await using app = await Application.start({ providers: [Handler] });
    await app.jobs.enqueue(Handler, (h) => h.run());

    await expect(app.runAll()).resolves.toHaveLength(1);
  });

  it('waits for the last value of an Observable', async () => {
    const subject = new Subject<number>();
    class Handler {
      @Job()
      run(): unknown {
        return subject;
      }
    }
    await using app = await Application.start({ providers: [Handler] });
    await app.jobs.enqueue(Handler, (h) => h.run());
    let ended = false;

    const running = app.runAll().finally(() => (ended = true));
    await nextTurn();
    subject.next(1);
    await nextTurn();
    const endedEarly = ended;
    subject.complete();
    await running;

    expect([endedEarly, ended]).toEqual([false, true]);
  });

  it('fails when its time is up, aborts its signal, and hears no more of the handler', async () => {
    let signal: AbortSignal | undefined;
    class Handler {
      @Job({ timeout: 20 })
      async ignores(@JobCtx() ctx?: JobContext): Promise<void> {
        signal = ctx?.signal;
        await new Promise((_, reject) => setTimeout(reject, 40, new Error('too late to matter')));
      }

      @Job({ timeout: '1m' })
      async inTime(): Promise<void> {
        await nextTurn();
      }
    }
    await using app = await Application.start({ providers: [Handler] });
    await app.jobs.enqueue(Handler, (h) => h.ignores());
    await app.jobs.enqueue(Handler, (h) => h.inTime());
    const [late, inTime] = await app.claim();

    await expect(app.run(late!)).rejects.toThrow(JobTimeoutError);
    await expect(app.run(inTime!)).resolves.toMatchObject({ abortReason: undefined });

    expect(signal?.reason).toBeInstanceOf(JobTimeoutError);
    await new Promise((resolve) => setTimeout(resolve, 40));
  });

  it('rejects where arguments cannot be decoded', async () => {
    await using app = await Application.start({ providers: [Recorder] });
    await app.jobs.enqueue(Recorder, (r) => r.note('a'));
    const [job] = await app.claim();

    await expect(app.run({ ...job!, args: '[' })).rejects.toThrow(SyntaxError);
    await expect(app.run({ ...job!, args: '{}' })).rejects.toThrow(/no list/);
  });
});

@Injectable({ scope: Scope.REQUEST })
class RequestState {
  private static created = 0;
  readonly number = ++RequestState.created;

  constructor(@Inject(REQUEST) readonly request: JobContext) {}
}

@Injectable()
class Service {
  constructor(@Inject(RequestState) readonly state: RequestState) {}
}

@Injectable()
class ScopedHandler {
  constructor(
    @Inject(Service) private readonly service: Service,
    @Inject(RequestState) private readonly state: RequestState,
  ) {}

  @Job()
  async run(@JobCtx() ctx?: JobContext): Promise<void> {
    const { number, request } = this.service.state;
    await nextTurn();
    seen.push({
      number,
      same: this.state === this.service.state && this.state.number === number,
      request: request === ctx,
    });
  }
}

describe('A request-scoped handler or dependency', () => {
  it('has one scope per execution, whose REQUEST is the context', async () => {
    await using app = await Application.start({ providers: [RequestState, Service, ScopedHandler] });
    for (let count = 0; count < 10; count++) await app.jobs.enqueue(ScopedHandler, (h) => h.run());
    const jobs = await app.claim();

    await Promise.all(jobs.map((job) => app.run(job)));
    await app.run(jobs[0]!);

    const numbers = (seen as { number: number }[]).map(({ number }) => number);
    expect(new Set(numbers).size).toBe(11);
    expect(seen).toEqual(numbers.map((number) => ({ number, same: true, request: true })));
  });

  it('can be a request-scoped class, a transient one, a factory or an alias', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      readonly id = {};
      @Job()
      run(): void {
        seen.push(this.id);
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class PerUse extends PerRequest {}
    class Made extends PerRequest {}
    abstract class Token {
      abstract run(): void;
    }
    await using app = await Application.start({
      providers: [
        PerRequest,
        PerUse,
        { provide: Made, scope: Scope.REQUEST, useFactory: () => new Made() },
        { provide: Token, useExisting: PerRequest },
      ],
    });
    for (const target of [PerRequest, PerUse, Made, Token]) {
      await app.jobs.enqueue(target as typeof PerRequest, (h) => h.run());
      await app.jobs.enqueue(target as typeof PerRequest, (h) => h.run());
    }

    await app.runAll();

    expect(seen).toHaveLength(8);
    expect(new Set(seen).size).toBe(8);
  });

  it('rejects where its provider cannot be made', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        throw new Error('cannot be made');
      }
      @Job()
      run(): void {}
    }
    await using app = await Application.start({ providers: [Broken] });
    await app.jobs.enqueue(Broken, (h) => h.run());

    await expect(app.runAll()).rejects.toThrow('cannot be made');
  });

  it('shares its scope with what the handler resolves by the context', async () => {
    const { ModuleRef } = await import('@nestjs/core');
    @Injectable()
    class Handler {
      constructor(
        @Inject(RequestState) private readonly state: RequestState,
        @Inject(ModuleRef) private readonly moduleRef: InstanceType<typeof ModuleRef>,
      ) {}

      @Job()
      async run(@JobCtx() ctx?: JobContext): Promise<void> {
        const resolved = await this.moduleRef.resolve(RequestState, ContextIdFactory.getByRequest(ctx!));
        seen.push(resolved === this.state);
      }
    }
    await using app = await Application.start({ providers: [RequestState, Handler] });
    await app.jobs.enqueue(Handler, (h) => h.run());

    await app.runAll();

    expect(seen).toEqual([true]);
  });

  it('keeps nothing of an execution that has ended', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Heavy {
      readonly ballast = Buffer.alloc(100_000);
      @Job()
      run(): void {
        seen = [new WeakRef(this), ...seen];
      }
    }
    await using app = await Application.start({ providers: [Heavy] });
    await app.jobs.enqueue(Heavy, (h) => h.run());
    const [job] = await app.claim();

    for (let count = 0; count < 300; count++) await app.run(job!);
    for (let turn = 0; turn < 10; turn++) {
      collectGarbage();
      await nextTurn();
    }

    const alive = (seen as WeakRef<Heavy>[]).filter((reference) => reference.deref() !== undefined).length;
    expect(alive).toBeLessThan(5);
  });
});

/** V8's own function: Jest runs without --expose-gc. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

class TenantStrategy implements ContextIdStrategy {
  private readonly parents = new Map<string, ContextId>();

  attach(contextId: ContextId, request: JobContext) {
    const tenant = request.tenantId ?? 'none';
    let parent = this.parents.get(tenant);
    if (parent === undefined) {
      parent = ContextIdFactory.create();
      this.parents.set(tenant, parent);
    }
    const shared = parent;
    return {
      resolve: (info: HostComponentInfo) => (info.isTreeDurable ? shared : contextId),
      payload: { tenant, tenantId: 'of the payload' },
    };
  }
}

describe('Durable providers', () => {
  const { strategy } = ContextIdFactory as unknown as { strategy?: ContextIdStrategy };
  beforeEach(() => ContextIdFactory.apply(new TenantStrategy()));
  afterEach(() => ContextIdFactory.apply(strategy as ContextIdStrategy));

  @Injectable({ scope: Scope.REQUEST, durable: true })
  class TenantConnection {
    constructor(@Inject(REQUEST) readonly payload: { tenant: string }) {}
  }
  @Injectable()
  class DurableHandler {
    constructor(@Inject(TenantConnection) private readonly connection: TenantConnection) {}

    @Job()
    run(): void {
      seen.push([this.connection, this.connection.payload.tenant]);
    }
  }
  @Injectable()
  class MixedHandler {
    constructor(
      @Inject(TenantConnection) private readonly connection: TenantConnection,
      @Inject(RequestState) private readonly state: RequestState,
    ) {}

    @Job()
    run(@JobCtx() ctx?: JobContext): void {
      const { request } = this.state;
      seen.push([
        this.connection,
        request === ctx,
        (request as unknown as { tenant: string }).tenant,
        request.tenantId,
      ]);
    }
  }

  it('live as long as their parent context, and see its payload', async () => {
    await using app = await Application.start({ providers: [TenantConnection, DurableHandler] });
    const tenants = app.get(ITenantContext);
    for (const tenant of ['a', 'b', 'a']) {
      await tenants.run(tenant, () => app.jobs.enqueue(DurableHandler, (h) => h.run()));
    }

    await app.runAll();

    const calls = seen as [TenantConnection, string][];
    expect(calls.map(([, tenant]) => tenant)).toEqual(['a', 'b', 'a']);
    expect(calls[0]![0]).toBe(calls[2]![0]);
    expect(calls[0]![0]).not.toBe(calls[1]![0]);
  });

  it('mix with request-scoped ones, whose REQUEST is the context with the payload on it', async () => {
    await using app = await Application.start({ providers: [RequestState, TenantConnection, MixedHandler] });
    const tenants = app.get(ITenantContext);
    await tenants.run('a', () => app.jobs.enqueue(MixedHandler, (h) => h.run()));
    await tenants.run('a', () => app.jobs.enqueue(MixedHandler, (h) => h.run()));

    await app.runAll();

    const calls = seen as [TenantConnection, boolean, string, string][];
    expect(calls.map(([, ...rest]) => rest)).toEqual([
      [true, 'a', 'a'],
      [true, 'a', 'a'],
    ]);
    expect(calls[0]![0]).toBe(calls[1]![0]);
  });
});
