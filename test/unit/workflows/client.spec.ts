import {
  Activity,
  type ActivityContext,
  type IActivity,
  ITenantContext,
  type IWorkflow,
  type IWorkflowBuilder,
  StepRecovery,
  Workflow,
} from 'nestjs-millrace';
import { MillraceTestHost } from 'nestjs-millrace/testing';
import { z } from 'zod';

interface Order {
  readonly id: string;
  amount: number;
  readonly broken?: boolean;
  received?: unknown;
}

@Activity()
class Record implements IActivity<Order> {
  execute({ data }: ActivityContext<Order>): void {
    data.amount++;
  }
}

const payment = z.object({ amount: z.coerce.number().positive() });

@Workflow({ id: 'paid', version: 1 })
class PaidWorkflow implements IWorkflow<Order> {
  build(flow: IWorkflowBuilder<Order>): void {
    flow
      .waitForSignal<z.infer<typeof payment>>({
        name: 'paid',
        correlate: ({ id }) => id,
        bind: (data, { amount }) => {
          data.amount = amount;
        },
        schema: payment,
      })
      .then(Record);
  }
}

@Workflow({ id: 'free', version: 1 })
class FreeWorkflow implements IWorkflow<Order> {
  build(flow: IWorkflowBuilder<Order>): void {
    flow
      .waitForSignal({
        name: 'free',
        correlate: ({ id }) => id,
        bind: (data, payload) => {
          if (data.broken) throw new Error('Cannot be bound');
          data.received = payload;
        },
      })
      .if(
        ({ received }) => (received as { more: { deep: boolean } } | null)?.more.deep ?? false,
        (deep) => deep.then(Record),
      );
  }
}

const order = (fields: Partial<Order> = {}): Order => ({ id: 'o-1', amount: 0, ...fields });

describe('The workflow client', () => {
  const start = () => MillraceTestHost.create({ providers: [Record, PaidWorkflow, FreeWorkflow] });

  it('starts one live instance per key', async () => {
    await using millrace = await start();

    const first = await millrace.workflows.start(PaidWorkflow, order(), { key: 'o-1' });
    expect(await millrace.workflows.start('paid', order(), { key: 'o-1' })).toBe(first);
    expect(await millrace.workflows.start('paid', order(), { key: 'o-2' })).not.toBe(first);
    expect(await millrace.workflows.start('free', order(), { key: 'o-1' })).not.toBe(first);

    expect(await millrace.workflows.cancel(first)).toBe(true);
    expect(await millrace.workflows.start('paid', order(), { key: 'o-1' })).not.toBe(first);
  });

  it('waits at once where a definition opens with a wait, and holds no job', async () => {
    await using millrace = await start();

    const id = await millrace.workflows.start('paid', order());

    expect(await millrace.getInstance(id)).toMatchObject({ state: 'Suspended', waits: [{ position: 'sig1' }] });
    expect(await millrace.runUntilIdle()).toBe(0);
  });

  it('refuses a payload that does not fit the schema of the wait, which stays; one that fits arrives as it leaves it', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('paid', order());

    await expect(millrace.workflows.signal('paid', 'o-1', { amount: 'much' })).rejects.toMatchObject({
      code: 'MILLRACE_SIGNAL_REFUSED',
      message: expect.stringContaining('amount'),
    });
    expect(await millrace.getInstance(id)).toMatchObject({ state: 'Suspended', waits: [{ signalName: 'paid' }] });

    expect(await millrace.workflows.signal('paid', 'o-1', { amount: '12' })).toBe(true);
    await millrace.runUntilIdle();
    expect(await millrace.getData(id)).toEqual(order({ amount: 13 }));
  });

  it('refuses a payload that cannot be stored, and a name or key that cannot be one', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('free', order());

    await expect(millrace.workflows.signal('free', 'o-1', { text: 'a\u0000b' })).rejects.toThrow(/text/);
    await expect(millrace.workflows.signal('', 'o-1')).rejects.toThrow(/signal name/);
    await expect(millrace.workflows.signal('free', ' ')).rejects.toThrow(/correlation id/);
    await expect(millrace.workflows.start('free', { id: () => 1 })).rejects.toThrow(/document/);

    expect(await millrace.getInstance(id)).toMatchObject({ waits: [{ signalName: 'free' }] });
  });

  it('resumes without calling bind where a signal carries nothing', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('free', order({ broken: true }));

    expect(await millrace.workflows.signal('free', 'o-1')).toBe(true);
    await millrace.runUntilIdle();

    expect(await millrace.getInstanceState(id)).toBe('Completed');
  });

  it('finds a signal whose bind has thrown parked with its payload, and a condition that throws parked as code', async () => {
    await using millrace = await start();
    const [broken, shallow] = [
      await millrace.workflows.start('free', order({ id: 'broken', broken: true })),
      await millrace.workflows.start('free', order({ id: 'shallow' })),
    ];
    await millrace.workflows.signal('free', 'broken', 'payload');
    await millrace.workflows.signal('free', 'shallow', { less: true });
    await millrace.runUntilIdle();

    expect(await millrace.getInstance(broken)).toMatchObject({
      state: 'Suspended',
      parked: [{ reason: 'code', position: 'sig1', error: expect.stringContaining('Cannot be bound') }],
    });
    expect(await millrace.getInstance(shallow)).toMatchObject({
      state: 'Suspended',
      parked: [{ number: 1, reason: 'code', position: 'if1', error: expect.stringContaining('deep') }],
    });
    await expect(millrace.workflows.resolve(shallow, StepRecovery.Skip)).rejects.toMatchObject({
      code: 'MILLRACE_INVALID_DECISION',
      message: expect.stringContaining('Retry, Fail'),
    });
    expect(await millrace.workflows.resolve(shallow, StepRecovery.Retry)).toBe(true);
    expect(await millrace.getInstance(shallow)).toMatchObject({ parked: [{ number: 2, position: 'if1' }] });
    expect(await millrace.workflows.resolve(shallow, StepRecovery.Fail, { park: 1 })).toBe(false);
    expect(await millrace.workflows.resolve(shallow, StepRecovery.Fail, { park: 2 })).toBe(true);
    expect(await millrace.getInstanceState(shallow)).toBe('Failed');
  });

  it('matches signals within one tenant, and another one where it is named', async () => {
    await using millrace = await start();
    const tenants = millrace.get<ITenantContext>(ITenantContext);
    const id = await tenants.run('acme', () => millrace.workflows.start('free', order()));
    expect(await millrace.getInstance(id)).toMatchObject({ tenantId: 'acme' });

    expect(await millrace.workflows.signal('free', 'o-1')).toBe(false);
    expect(await tenants.run('other', () => millrace.workflows.signal('free', 'o-1'))).toBe(false);
    expect(await millrace.workflows.signal('free', 'o-1', undefined, { tenant: 'acme' })).toBe(true);
  });

  it('answers null and false for what there is not, and refuses an id that is none', async () => {
    await using millrace = await start();
    const unknown = '0199f0a0-0000-7000-8000-000000000000';

    expect(await millrace.getInstance(unknown)).toBeNull();
    expect(await millrace.getInstanceState(unknown)).toBeNull();
    expect(await millrace.getData(unknown)).toBeNull();
    expect(await millrace.workflows.cancel(unknown)).toBe(false);
    expect(await millrace.workflows.retry(unknown)).toBe(false);
    await expect(millrace.getInstance('o-1')).rejects.toThrow(/instance id/);
    await expect(millrace.workflows.start('free', order(), { keys: 'x' } as never)).rejects.toThrow(/"keys"/);
  });
});
