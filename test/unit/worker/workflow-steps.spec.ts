import {
  type ClaimedJob,
  InstanceState,
  IWorkflowStorage,
  type JobRecord,
  type JobTransition,
  newId,
  newJob,
  Retry,
} from 'nestjs-millrace/storage';
import type { JobExecution } from '../../../lib/jobs/job-execution';
import { IWorkflowSteps } from '../../../lib/worker/workflow-steps';
import { Application } from './an-application';

const moves = () => null;

class Steps extends IWorkflowSteps {
  readonly ran: string[] = [];
  readonly loaded: number[] = [];
  readonly ends: string[] = [];
  lacking: string | null = null;

  override load(jobs: readonly ClaimedJob[]): Promise<void> {
    this.loaded.push(jobs.length);
    return Promise.resolve();
  }

  override missing(): string | null {
    return this.lacking;
  }

  override async run({ job }: JobExecution): Promise<void> {
    this.ran.push(job.position ?? '');
    if (job.position === 'fails') throw new Error('boom');
  }

  override advance(_job: ClaimedJob, transition: JobTransition) {
    this.ends.push(transition.target);
    return moves;
  }

  override resumeExpired(): never {
    throw new Error('no wait expires here');
  }
}

function aStep(position: string): JobRecord {
  const createdAt = new Date();
  const step = {
    handler: 'onboarding',
    args: '[]',
    retry: Retry.none,
    instanceId: newId(createdAt),
    position,
    scope: '',
  };
  return newJob({ id: newId(createdAt), queue: 'default', createdAt, ...step });
}

/** Stores an instance with its first step. */
async function begin(app: Application, step: JobRecord): Promise<void> {
  const { createdAt } = step;
  await app.context.get(IWorkflowStorage).createInstance({
    instance: {
      id: step.instanceId!,
      definitionId: 'onboarding',
      definitionVersion: 1,
      state: InstanceState.Running,
      data: '{}',
      dataTypes: null,
      cursor: '{}',
      revision: 1,
      tenantId: null,
      startKey: null,
      shapeHash: 'hash',
      suspendedReason: null,
      failure: null,
      lastDecisionId: null,
      createdAt,
      updatedAt: createdAt,
      finishedAt: null,
    },
    jobs: [step],
    bookmarks: [],
  });
}

describe('A job of a workflow', () => {
  it('waits, visibly, where its workflow is not to be had', async () => {
    const app = await Application.start({});
    const step = aStep('a1');

    await begin(app, step);
    const job = await app.job(step.id, 'Scheduled');

    expect(job).toMatchObject({
      failures: 0,
      releases: 1,
      lastError: expect.stringContaining('no workflow onboarding@1'),
    });
  });

  it('runs as a step, and its transition moves its instance on, however it ends', async () => {
    const steps = new Steps();
    const app = await Application.startWith(IWorkflowSteps, steps);
    const apply = jest.spyOn(app.storage, 'apply');
    const [good, bad] = [aStep('succeeds'), aStep('fails')];

    await begin(app, good);
    await begin(app, bad);
    await app.job(good.id, 'Succeeded');
    await app.job(bad.id, 'Dead');

    const transitions = apply.mock.calls.flatMap(([batch]) => batch);
    expect(steps.ran).toEqual(['succeeds', 'fails']);
    expect(steps.loaded.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(steps.ends).toEqual(['Succeeded', 'Dead']);
    expect(transitions.map(({ advance }) => advance)).toEqual([moves, moves]);
    expect(transitions.map(({ instanceId }) => instanceId)).toEqual([good.instanceId, bad.instanceId]);
  });

  it('is put back with what is lacking, and moves nothing, where its version is not to be had', async () => {
    const steps = new Steps();
    const app = await Application.startWith(IWorkflowSteps, steps);
    steps.lacking = 'This node has no workflow onboarding@2.';
    const step = aStep('a1');

    await begin(app, step);
    const job = await app.job(step.id, 'Scheduled');

    expect(job.lastError).toContain('onboarding@2');
    expect(steps.ends).toEqual([]);
  });

  it('dies without moving anything when the store takes no end of it', async () => {
    const app = await Application.startWith(IWorkflowSteps, new Steps());
    const step = aStep('succeeds');

    await app.storage.enqueue([step]);
    const job = await app.job(step.id, 'Dead');

    expect(job.lastError).toContain(step.instanceId);
  });
});
