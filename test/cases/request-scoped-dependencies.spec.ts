import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Inject, Injectable, Scope } from '@nestjs/common';
import {
  type ContextId,
  ContextIdFactory,
  type ContextIdStrategy,
  type HostComponentInfo,
  REQUEST,
} from '@nestjs/core';
import { ITenantContext, Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

// Node gives its collector to code only when it is asked at the start, or like this.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let made = 0;
const living: WeakRef<UnitOfWork>[] = [];

@Injectable({ scope: Scope.REQUEST })
class UnitOfWork {
  readonly number = ++made;
  state = '';

  constructor(@Inject(REQUEST) readonly request: JobContext) {
    living.push(new WeakRef(this));
  }
}

@Injectable()
class Ledger {
  constructor(@Inject(UnitOfWork) readonly work: UnitOfWork) {}
}

interface Observation {
  readonly label: string;
  readonly attempt: number;
  readonly before: number;
  readonly after: number;
  readonly state: string;
  readonly request: string;
  readonly jobId: string;
}

const observations: Observation[] = [];

/** What every handler here does: uses its dependency before and after others had their turn. */
async function observe(label: string, work: UnitOfWork | undefined, ctx: JobContext): Promise<void> {
  const before = work!.number;
  work!.state += label;
  await pause(5);
  observations.push({
    label,
    attempt: ctx.attempt,
    before,
    after: work!.number,
    state: work!.state,
    request: work!.request.jobId,
    jobId: ctx.jobId,
  });
}

/** Depends on something request-scoped through something that is not. */
@Injectable()
class Invoices {
  constructor(@Inject(Ledger) private readonly ledger: Ledger) {}

  @Job()
  async send(label: string, @JobCtx() ctx?: JobContext): Promise<void> {
    await observe(label, this.ledger?.work, ctx!);
  }

  @Job({ retry: Retry.fixed(0, 2) })
  async sendAtTheSecondAttempt(label: string, @JobCtx() ctx?: JobContext): Promise<void> {
    await observe(label, this.ledger?.work, ctx!);
    if (ctx!.attempt === 1) throw new Error('Not yet');
  }

  @Job()
  async count(): Promise<void> {
    if (this.ledger?.work === undefined) throw new Error('Something was not injected');
  }
}

/** Is request-scoped itself. */
@Injectable({ scope: Scope.REQUEST })
class Receipts {
  constructor(
    @Inject(UnitOfWork) private readonly work: UnitOfWork,
    @Inject(JobContext) private readonly context: JobContext,
  ) {}

  @Job()
  async send(label: string): Promise<void> {
    await observe(label, this.work, this.context);
  }
}

@Injectable({ scope: Scope.REQUEST, durable: true })
class TenantConnection {
  readonly number = ++made;

  constructor(@Inject(REQUEST) readonly payload: { tenant: string }) {}
}

const tenantReports: [tenant: string, connection: number, payload: string][] = [];

@Injectable()
class TenantReports {
  constructor(@Inject(TenantConnection) private readonly connection: TenantConnection) {}

  @Job()
  async generate(tenant: string): Promise<void> {
    tenantReports.push([tenant, this.connection.number, this.connection.payload.tenant]);
  }
}

/** One tree of providers per tenant, as Nest's documentation of durable providers has it. */
class PerTenant implements ContextIdStrategy {
  private readonly trees = new Map<string, ContextId>();

  attach(contextId: ContextId, request: JobContext) {
    const tenant = request.tenantId ?? 'none';
    const tree = this.trees.get(tenant) ?? ContextIdFactory.create();
    this.trees.set(tenant, tree);
    return {
      resolve: (info: HostComponentInfo) => (info.isTreeDurable ? tree : contextId),
      payload: { tenant },
    };
  }
}

describe('dependencies that are made anew for each request', () => {
  describeOnStores(['memory'], (freshStore) => {
    const start = () =>
      RunningNode.start({
        store: freshStore(),
        maxParallelism: 5,
        providers: [UnitOfWork, Ledger, Invoices, Receipts, TenantConnection, TenantReports],
      });

    beforeEach(() => {
      observations.length = 0;
      tenantReports.length = 0;
    });

    it.each([
      ['of a handler that depends on one indirectly', Invoices],
      ['of a handler that is request-scoped itself', Receipts],
    ])('are one per execution, %s, and shared by none', async (_, handler) => {
      await using node = await start();

      for (let index = 0; index < 10; index++) {
        await node.jobs.enqueue<Invoices | Receipts>(handler, (service) => service.send(`job ${index}`));
      }
      await node.allEnded();

      expect(observations).toHaveLength(10);
      expect(new Set(observations.map(({ before }) => before)).size).toBe(10);
      for (const { label, before, after, state, request, jobId } of observations) {
        expect([after, state, request]).toEqual([before, label, jobId]);
      }
    });

    it('are new for each attempt', async () => {
      await using node = await start();

      await node.jobs.enqueue(Invoices, (invoices) => invoices.sendAtTheSecondAttempt('retried'));
      await node.allEnded();

      expect(observations.map(({ attempt, state }) => [attempt, state])).toEqual([
        [1, 'retried'],
        [2, 'retried'],
      ]);
      expect(observations[0]!.before).not.toBe(observations[1]!.before);
    });

    it('are kept for a tenant where they are durable', async () => {
      ContextIdFactory.apply(new PerTenant());
      await using node = await start();
      await using _ = { [Symbol.asyncDispose]: async () => ContextIdFactory.apply(undefined as never) };
      const tenants = node.app.get(ITenantContext);

      for (const tenant of ['acme', 'globex', 'acme', 'globex', 'acme']) {
        await tenants.run(tenant, () => node.jobs.enqueue(TenantReports, (reports) => reports.generate(tenant)));
      }
      await node.allEnded();

      expect(tenantReports).toHaveLength(5);
      for (const [tenant, , payload] of tenantReports) expect(payload).toBe(tenant);
      const connections = (tenant: string) =>
        new Set(tenantReports.filter(([of]) => of === tenant).map(([, number]) => number));
      expect([connections('acme').size, connections('globex').size]).toEqual([1, 1]);
    });

    it('are gone when their execution has ended: thousands of jobs leave no memory behind', async () => {
      await using node = await start();

      for (let index = 0; index < 3_000; index++) await node.jobs.enqueue(Invoices, (invoices) => invoices.count());
      await node.allEnded();

      expect(await node.countOf(JobState.Succeeded)).toBe(3_000);
      await eventually(() => {
        collectGarbage();
        expect(living.filter((unit) => unit.deref() !== undefined).length).toBeLessThan(20);
      });
      expect(living.length).toBeGreaterThanOrEqual(3_000);
    });
  });
});
