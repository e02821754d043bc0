import { Injectable } from '@nestjs/common';
import {
  Activity,
  CompensationRecovery,
  type IActivity,
  type InstanceId,
  type IWorkflow,
  type IWorkflowBuilder,
  Job,
  NestedSagaPolicy,
  Retry,
  StepFailurePolicy,
  StepRecovery,
  Workflow,
} from 'nestjs-millrace';
import { IMonitoringStorage } from 'nestjs-millrace/storage';
import { MillraceTestHost } from 'nestjs-millrace/testing';
import { Journal } from './journal';

abstract class Step implements IActivity {
  constructor(private readonly journal: Journal) {}

  execute(): void {
    this.journal.write(this.constructor.name);
  }
}

/** The activities of a test by their names: each writes its name. */
function steps<Name extends string>(...names: Name[]): Record<Name, new (journal: Journal) => Step> {
  const made = names.map((name) => {
    const type = { [name]: class extends Step {} }[name]!;
    Reflect.defineMetadata('design:paramtypes', [Journal], type);
    Activity()(type);
    return [name, type] as const;
  });
  return Object.fromEntries(made) as Record<Name, new (journal: Journal) => Step>;
}

const order = steps(
  'ReserveInventory',
  'ReleaseInventory',
  'ChargeCard',
  'RefundCard',
  'BookCourier',
  'CancelCourier',
  'NotifyCustomer',
);
const trip = steps(
  'BookHotel',
  'CancelHotel',
  'PayDeposit',
  'RefundDeposit',
  'IssueTicket',
  'VoidTicket',
  'ConfirmTrip',
);
@Injectable()
class Notes {
  @Job()
  take(): void {}
}

const once = { retry: Retry.none };

@Workflow({ id: 'order', version: 1 })
class OrderWorkflow implements IWorkflow {
  build(flow: IWorkflowBuilder<unknown>): void {
    flow
      .saga((saga) =>
        saga
          .then(order.ReserveInventory, once)
          .compensateWith(order.ReleaseInventory, once)
          .then(order.ChargeCard, { retry: Retry.fixed(0, 3) })
          .compensateWith(order.RefundCard, { retry: Retry.fixed(0, 2) })
          .then(order.BookCourier, once)
          .compensateWith(order.CancelCourier, once),
      )
      .then(order.NotifyCustomer, once);
  }
}

const policies = Object.values(StepFailurePolicy);

class PolicyWorkflow implements IWorkflow {
  constructor(private readonly policy: StepFailurePolicy) {}

  build(flow: IWorkflowBuilder<unknown>): void {
    flow.saga((saga) =>
      saga
        .then(order.ReserveInventory, once)
        .compensateWith(order.ReleaseInventory, once)
        .then(order.BookCourier, once)
        .onFailure(this.policy)
        .then(order.NotifyCustomer, once),
    );
  }
}

const policyWorkflows = policies.map((policy) => {
  class OnePolicyWorkflow extends PolicyWorkflow {
    constructor() {
      super(policy);
    }
  }
  Workflow({ id: `policy ${policy}`, version: 1 })(OnePolicyWorkflow);
  return OnePolicyWorkflow;
});

const nestings = Object.values(NestedSagaPolicy).map((policy) => {
  class TripWorkflow implements IWorkflow {
    build(flow: IWorkflowBuilder<unknown>): void {
      flow.saga((outer) =>
        outer
          .then(trip.BookHotel, once)
          .compensateWith(trip.CancelHotel, once)
          .saga(
            (inner) =>
              inner
                .then(trip.PayDeposit, once)
                .compensateWith(trip.RefundDeposit, once)
                .then(trip.IssueTicket, once)
                .compensateWith(trip.VoidTicket, once),
            policy,
          )
          .then(trip.ConfirmTrip, once),
      );
    }
  }
  Workflow({ id: `trip ${policy}`, version: 1 })(TripWorkflow);
  return TripWorkflow;
});

const providers = [
  Journal,
  Notes,
  OrderWorkflow,
  ...policyWorkflows,
  ...nestings,
  ...Object.values(order),
  ...Object.values(trip),
];

/** Runs an instance until it stands still. */
async function run(millrace: MillraceTestHost, workflow: string): Promise<InstanceId> {
  const id = await millrace.workflows.start(workflow, {});
  await millrace.runUntilIdle({ throwOnFailure: false });
  return id;
}

describe('The order saga', () => {
  const start = () => MillraceTestHost.create({ providers });

  it('goes on behind the saga when all of its steps succeed, and undoes nothing', async () => {
    await using millrace = await start();

    const id = await run(millrace, 'order');

    expect(await millrace.getInstanceState(id)).toBe('Completed');
    expect(millrace.get(Journal).entries).toEqual(['ReserveInventory', 'ChargeCard', 'BookCourier', 'NotifyCustomer']);
  });

  it('undoes the completed steps, the last one first, when a step has exhausted its retries', async () => {
    await using millrace = await start();
    millrace.get(Journal).fail('BookCourier');

    const id = await run(millrace, 'order');

    expect(await millrace.getInstance(id)).toMatchObject({
      state: 'Compensated',
      failure: { position: 'saga1.0/a3', error: expect.stringContaining('BookCourier fails') },
    });
    expect(millrace.get(Journal).entries).toEqual([
      'ReserveInventory',
      'ChargeCard',
      'BookCourier',
      'RefundCard',
      'ReleaseInventory',
    ]);
  });

  it('does not unwind for a failure that a retry mends', async () => {
    await using millrace = await start();
    const journal = millrace.get(Journal);
    journal.fail('ChargeCard');
    const write = journal.write.bind(journal);
    let attempts = 0;
    jest.spyOn(journal, 'write').mockImplementation((entry) => {
      if (entry === 'ChargeCard' && ++attempts === 3) journal.mend('ChargeCard');
      write(entry);
    });

    const id = await run(millrace, 'order');

    expect(await millrace.getInstanceState(id)).toBe('Completed');
    expect(journal.entries.filter((entry) => entry === 'ChargeCard')).toHaveLength(3);
  });

  it('fails, undoing nothing, when its first step fails', async () => {
    await using millrace = await start();
    millrace.get(Journal).fail('ReserveInventory');

    const id = await run(millrace, 'order');

    expect(await millrace.getInstanceState(id)).toBe('Failed');
    expect(millrace.get(Journal).entries).toEqual(['ReserveInventory']);
  });

  it('stands once it has committed: a step behind it that fails fails the instance, and can be retried', async () => {
    await using millrace = await start();
    millrace.get(Journal).fail('NotifyCustomer');
    const id = await run(millrace, 'order');
    expect(await millrace.getInstanceState(id)).toBe('Failed');

    millrace.get(Journal).mend('NotifyCustomer');
    expect(await millrace.workflows.retry(id)).toBe(true);
    await millrace.runUntilIdle();

    expect(await millrace.getInstance(id)).toMatchObject({ state: 'Completed', failure: null });
    expect(millrace.get(Journal).entries.slice(-2)).toEqual(['NotifyCustomer', 'NotifyCustomer']);
    expect(await millrace.workflows.retry(id).catch((error: { code: string }) => error.code)).toBe(
      'MILLRACE_WORKFLOW_NOT_RETRYABLE',
    );
  });

  it('is suspended when a compensation has exhausted its own retries, until somebody decides', async () => {
    await using millrace = await start();
    const journal = millrace.get(Journal);
    journal.fail('BookCourier');
    journal.fail('RefundCard');

    const id = await run(millrace, 'order');

    expect(await millrace.getInstance(id)).toMatchObject({
      state: 'Suspended',
      parked: [{ number: 1, reason: 'compensation', position: 'saga1.0/a2', node: 'a2' }],
    });
    expect(journal.entries.filter((entry) => entry === 'RefundCard')).toHaveLength(2);
    expect(journal.entries).not.toContain('ReleaseInventory');

    journal.mend('RefundCard');
    expect(await millrace.workflows.recoverCompensation(id, CompensationRecovery.Retry, { park: 7 })).toBe(false);
    expect(await millrace.workflows.recoverCompensation(id, CompensationRecovery.Retry, { park: 1 })).toBe(true);
    await millrace.runUntilIdle();

    expect(await millrace.getInstanceState(id)).toBe('Compensated');
    expect(journal.entries.slice(-2)).toEqual(['RefundCard', 'ReleaseInventory']);
    expect(await millrace.workflows.recoverCompensation(id, CompensationRecovery.Skip)).toBe(false);
  });

  it('belongs to its instance: its jobs cannot be cancelled, requeued, deleted or continued', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('order', {});
    const failure = (promise: Promise<unknown>) => promise.catch((error: { code: string }) => error.code);
    const { items } = await millrace.get<IMonitoringStorage>(IMonitoringStorage).queryJobs({});
    const job = items[0]!.id;

    for (const call of [millrace.jobs.cancel(job), millrace.jobs.requeue(job), millrace.jobs.delete(job)]) {
      expect(await failure(call)).toBe('MILLRACE_WORKFLOW_JOB');
    }
    const continued = millrace.jobs.continueWith(job, Notes, (notes) => notes.take());
    expect(await failure(continued)).toBe('MILLRACE_WORKFLOW_JOB_PARENT');
    expect(await millrace.getInstanceState(id)).toBe('Running');
  });
});

describe('onFailure', () => {
  const start = () => MillraceTestHost.create({ providers });

  it.each([StepFailurePolicy.Retry, StepFailurePolicy.Compensate])('%s undoes the saga', async (policy) => {
    await using millrace = await start();
    millrace.get(Journal).fail('BookCourier');

    const id = await run(millrace, `policy ${policy}`);

    expect(await millrace.getInstanceState(id)).toBe('Compensated');
    expect(millrace.get(Journal).entries).toEqual(['ReserveInventory', 'BookCourier', 'ReleaseInventory']);
  });

  it('Terminate fails the instance and lets the earlier work stand', async () => {
    await using millrace = await start();
    millrace.get(Journal).fail('BookCourier');

    const id = await run(millrace, 'policy Terminate');

    expect(await millrace.getInstanceState(id)).toBe('Failed');
    expect(millrace.get(Journal).entries).toEqual(['ReserveInventory', 'BookCourier']);
    await expect(millrace.workflows.retry(id)).rejects.toMatchObject({ code: 'MILLRACE_WORKFLOW_NOT_RETRYABLE' });
  });

  it.each<[StepRecovery, string, string[]]>([
    [StepRecovery.Retry, 'Completed', ['BookCourier', 'NotifyCustomer']],
    [StepRecovery.Skip, 'Completed', ['NotifyCustomer']],
    [StepRecovery.Unwind, 'Compensated', ['ReleaseInventory']],
    [StepRecovery.Fail, 'Failed', []],
  ])('Suspend parks the step, undoing nothing; %s then ends it %s', async (action, state, then) => {
    await using millrace = await start();
    millrace.get(Journal).fail('BookCourier');
    const id = await run(millrace, 'policy Suspend');
    expect(await millrace.getInstance(id)).toMatchObject({
      state: 'Suspended',
      parked: [{ number: 1, reason: 'step', position: 'saga1.0/a2' }],
    });
    millrace.get(Journal).mend('BookCourier');

    expect(await millrace.workflows.resolve(id, action, { position: 'saga1.0/a2', park: 1 })).toBe(true);
    await millrace.runUntilIdle();

    expect(await millrace.getInstanceState(id)).toBe(state);
    expect(millrace.get(Journal).entries).toEqual(['ReserveInventory', 'BookCourier', ...then]);
    expect(await millrace.workflows.resolve(id, action)).toBe(false);
  });
});

describe('A nested saga', () => {
  const start = () => MillraceTestHost.create({ providers });

  it('that fails unwinds itself first, completely, and then the outer one', async () => {
    await using millrace = await start();
    millrace.get(Journal).fail('IssueTicket');

    const id = await run(millrace, 'trip Keep');

    expect(await millrace.getInstanceState(id)).toBe('Compensated');
    expect(millrace.get(Journal).entries).toEqual([
      'BookHotel',
      'PayDeposit',
      'IssueTicket',
      'RefundDeposit',
      'CancelHotel',
    ]);
  });

  it.each<[NestedSagaPolicy, string[]]>([
    [NestedSagaPolicy.Unwind, ['VoidTicket', 'RefundDeposit', 'CancelHotel']],
    [NestedSagaPolicy.Keep, ['CancelHotel']],
  ])('that has committed with %s is undone accordingly when the outer one fails', async (policy, undone) => {
    await using millrace = await start();
    millrace.get(Journal).fail('ConfirmTrip');

    const id = await run(millrace, `trip ${policy}`);

    expect(await millrace.getInstanceState(id)).toBe('Compensated');
    expect(millrace.get(Journal).entries).toEqual(['BookHotel', 'PayDeposit', 'IssueTicket', 'ConfirmTrip', ...undone]);
  });
});
