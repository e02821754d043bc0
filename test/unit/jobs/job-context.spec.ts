import { Inject, Injectable } from '@nestjs/common';
import {
  InvalidArgumentError,
  InvalidCallError,
  Job,
  JobContext,
  JobCtx,
  JobEndedError,
  NoJobContextError,
} from '../../../lib';
import { AmbientJobContext, runningExecution } from '../../../lib/jobs/ambient-job-context';
import { newId } from '../../../lib/model/ids';
import { Application } from './application';

let seen: unknown[] = [];
beforeEach(() => {
  seen = [];
});

@Injectable()
class Orders {
  constructor(@Inject(JobContext) private readonly context: JobContext) {}

  @Job({ queue: 'orders' })
  async confirm(work: string, @JobCtx() ctx?: JobContext): Promise<void> {
    if (work === 'follow-up') {
      seen.push(ctx?.enqueueOnSuccess(Orders, (o) => o.confirm('later'), { priority: 5, idempotencyKey: 'k' }));
      seen.push(this.context.enqueueOnSuccess(Orders, (o) => o.confirm('later')));
    }
    if (work === 'keep') seen.push(ctx);
    if (work === 'invalid') {
      expect(() => ctx?.enqueueOnSuccess(Orders, () => undefined)).toThrow(InvalidCallError);
      expect(() => ctx?.enqueueOnSuccess(Orders, (o) => o.confirm('x'), { transaction: {} } as object)).toThrow(
        InvalidArgumentError,
      );
    }
  }
}

const MEMBERS = [
  'jobId',
  'handler',
  'queue',
  'attempt',
  'failures',
  'tenantId',
  'recurringId',
  'occurrenceAt',
  'signal',
  'workflow',
  'logger',
] as const;

describe('The context of a job', () => {
  it('tells everything of the execution, injected or as a parameter', async () => {
    await using app = await Application.start({ providers: [Orders] });
    const id = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const [job] = await app.claim('orders');
    const execution = app.execution({
      ...job!,
      failures: 2,
      tenantId: 'acme',
      recurringId: 'r',
      occurrenceAt: new Date(5),
    });

    const injected = app.get(JobContext);
    const values = runningExecution.run(execution, () => MEMBERS.map((member) => injected[member]));

    expect(values.slice(0, 8)).toEqual([id, 'Orders.confirm', 'orders', 1, 2, 'acme', 'r', new Date(5)]);
    expect(values).toEqual(MEMBERS.map((member) => execution[member]));
    expect(execution.workflow).toBeUndefined();
  });

  it('names the instance of a step', async () => {
    await using app = await Application.start({ providers: [Orders] });
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const [job] = await app.claim('orders');
    const instanceId = newId(new Date());

    expect(app.execution({ ...job!, instanceId }).workflow).toEqual({ instanceId });
  });

  it('says where there is none, member by member', () => {
    const context = new AmbientJobContext();

    expect(context.active).toBe(false);
    for (const member of MEMBERS) expect(() => context[member]).toThrow(NoJobContextError);
    expect(() => context.enqueueOnSuccess(Orders, (o) => o.confirm('a'))).toThrow(NoJobContextError);
  });

  it('makes its signal when somebody asks, and tells it what has happened before', async () => {
    await using app = await Application.start({ providers: [Orders] });
    await app.jobs.enqueue(Orders, (o) => o.confirm('a'));
    const [job] = await app.claim('orders');
    const asked = app.execution(job!);
    const askedLate = app.execution(job!);
    const { signal } = asked;

    const before = signal.aborted;
    for (const execution of [asked, askedLate]) {
      execution.abort(new Error('first'));
      execution.abort(new Error('second'));
    }

    expect(before).toBe(false);
    expect([signal.aborted, askedLate.signal.aborted]).toEqual([true, true]);
    expect([signal.reason, askedLate.signal.reason]).toEqual([new Error('first'), new Error('first')]);
    expect(asked.signal).toBe(signal);
    expect(asked.abortReason).toEqual(new Error('first'));
  });

  it('collects jobs for the success of this one, in its tenant', async () => {
    await using app = await Application.start({ providers: [Orders] });
    await app.jobs.enqueue(Orders, (o) => o.confirm('follow-up'));
    const [job] = await app.claim('orders');

    const execution = await app.run({ ...job!, tenantId: 'acme' });

    expect(execution.followUps).toMatchObject([
      {
        id: seen[0],
        queue: 'orders',
        priority: 5,
        idempotencyKey: 'k',
        args: '["later"]',
        tenantId: 'acme',
        state: 'Enqueued',
      },
      { id: seen[1], queue: 'orders', priority: 0, idempotencyKey: null, tenantId: 'acme' },
    ]);
    expect(await app.claim('orders')).toEqual([]);
  });

  it('refuses further jobs once the handler has ended', async () => {
    await using app = await Application.start({ providers: [Orders] });
    await app.jobs.enqueue(Orders, (o) => o.confirm('keep'));

    const [execution] = await app.runAll('orders');

    const [context] = seen as [JobContext];
    expect(() => context.enqueueOnSuccess(Orders, (o) => o.confirm('late'))).toThrow(JobEndedError);
    expect(execution!.followUps).toEqual([]);
  });

  it('refuses bad input as an enqueue does', async () => {
    await using app = await Application.start({ providers: [Orders] });
    await app.jobs.enqueue(Orders, (o) => o.confirm('invalid'));

    await app.runAll('orders');

    expect.assertions(2);
  });
});
