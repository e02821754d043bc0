import { Injectable } from '@nestjs/common';
import {
  Activity,
  type ActivityContext,
  type IActivity,
  type IWorkflow,
  type IWorkflowBuilder,
  Workflow,
} from 'nestjs-millrace';
import { MillraceTestHost } from 'nestjs-millrace/testing';

class OnboardingData {
  customerId = '';
  needsApproval = false;
  approved = false;
}

interface ApprovalDecision {
  readonly isApproved: boolean;
}

@Injectable()
class Accounts {
  readonly created: string[] = [];
  readonly welcomed: string[] = [];
}

@Activity()
class CreateAccount implements IActivity<OnboardingData> {
  constructor(private readonly accounts: Accounts) {}

  async execute({ data }: ActivityContext<OnboardingData>): Promise<void> {
    this.accounts.created.push(data.customerId);
  }
}

@Activity()
class SendWelcome implements IActivity<OnboardingData> {
  constructor(private readonly accounts: Accounts) {}

  async execute({ data }: ActivityContext<OnboardingData>): Promise<void> {
    this.accounts.welcomed.push(`${data.customerId}, approved: ${data.approved}`);
  }
}

@Workflow({ id: 'onboarding', version: 1, data: OnboardingData })
class OnboardingWorkflow implements IWorkflow<OnboardingData> {
  build(flow: IWorkflowBuilder<OnboardingData>): void {
    flow
      .startWith(CreateAccount)
      .if(
        (d) => d.needsApproval,
        (approval) =>
          approval.waitForSignal<ApprovalDecision>({
            name: 'approval',
            correlate: (d) => d.customerId,
            bind: (d, decision) => {
              d.approved = decision.isApproved;
            },
            timeout: '3d',
          }),
      )
      .then(SendWelcome);
  }
}

const customer = (fields: Partial<OnboardingData> = {}): OnboardingData => ({
  customerId: 'c-1',
  needsApproval: false,
  approved: false,
  ...fields,
});

describe('The onboarding workflow', () => {
  const start = () =>
    MillraceTestHost.create({ providers: [Accounts, CreateAccount, SendWelcome, OnboardingWorkflow] });

  it('runs from its first activity to its last, without the wait where none is needed', async () => {
    await using millrace = await start();

    const id = await millrace.workflows.start('onboarding', customer());
    expect(await millrace.runUntilIdle()).toBe(2);

    expect(await millrace.getInstanceState(id)).toBe('Completed');
    expect(millrace.get(Accounts)).toEqual({ created: ['c-1'], welcomed: ['c-1, approved: false'] });
  });

  it('waits for the approval without any job, and goes on with what it carries', async () => {
    await using millrace = await start();

    const id = await millrace.workflows.start(OnboardingWorkflow, customer({ needsApproval: true }));
    expect(await millrace.runUntilIdle()).toBe(1);
    expect(await millrace.getInstance(id)).toMatchObject({
      state: 'Suspended',
      suspendedReason: expect.stringContaining('"approval"'),
      waits: [
        { node: 'sig1', signalName: 'approval', correlationId: 'c-1', expiresAt: new Date('2026-01-04T00:00:00Z') },
      ],
      parked: [],
    });

    expect(await millrace.workflows.signal('approval', 'c-1', { isApproved: true })).toBe(true);
    await millrace.runUntilIdle();

    expect(await millrace.getInstanceState(id)).toBe('Completed');
    expect(millrace.get(Accounts).welcomed).toEqual(['c-1, approved: true']);
  });

  it('delivers a signal at most once', async () => {
    await using millrace = await start();
    await millrace.workflows.start('onboarding', customer({ needsApproval: true }));
    await millrace.runUntilIdle();

    const answers = await Promise.all(
      [true, false].map((isApproved) => millrace.workflows.signal('approval', 'c-1', { isApproved })),
    );

    expect(answers).toEqual([true, false]);
    expect(await millrace.workflows.signal('approval', 'somebody else', { isApproved: true })).toBe(false);
  });

  it('gives up the wait when its time is over, and goes on without a payload', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('onboarding', customer({ needsApproval: true }));
    await millrace.runUntilIdle();

    await millrace.advanceTime('71h');
    expect(await millrace.runUntilIdle()).toBe(0);
    await millrace.advanceTime('1h');
    await millrace.runUntilIdle();

    expect(await millrace.getInstanceState(id)).toBe('Completed');
    expect(millrace.get(Accounts).welcomed).toEqual(['c-1, approved: false']);
    expect(await millrace.workflows.signal('approval', 'c-1', { isApproved: true })).toBe(false);
  });

  it('is stepped through its timeout by advanceAndRun', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start('onboarding', customer({ needsApproval: true }));

    await millrace.advanceAndRun('30d');

    expect(await millrace.getInstance(id)).toMatchObject({
      state: 'Completed',
      finishedAt: new Date('2026-01-04T00:00:00Z'),
    });
  });

  it('gives its activities, and whoever asks, an instance of its data class', async () => {
    await using millrace = await start();
    const id = await millrace.workflows.start(OnboardingWorkflow, Object.assign(new OnboardingData(), customer()));
    await millrace.runUntilIdle();

    expect(await millrace.getData(id)).toBeInstanceOf(OnboardingData);
    expect(await millrace.getData(id)).toEqual(Object.assign(new OnboardingData(), customer()));
  });
});
