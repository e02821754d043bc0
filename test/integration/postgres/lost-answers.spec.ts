import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx } from 'nestjs-millrace';
import { postgresStorage } from 'nestjs-millrace/postgres';
import {
  JobState,
  type MillraceError,
  newId,
  newJob,
  Retry,
  type Storage,
  type StorageRegistration,
} from 'nestjs-millrace/storage';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';
import { COMMIT, TcpProxy } from '../../support/tcp-proxy';

type PostgresAddress = Extract<StoreAddress, { kind: 'postgres' }>;

@Injectable()
class Payments {
  executions = 0;
  notifications = 0;

  @Job()
  async capture(): Promise<void> {
    this.executions++;
  }

  @Job()
  async captureAndNotify(@JobCtx() ctx?: JobContext): Promise<void> {
    this.executions++;
    ctx!.enqueueOnSuccess(Payments, (payments) => payments.notify());
  }

  @Job()
  async notify(): Promise<void> {
    this.notifications++;
  }

  @Job()
  async fail(): Promise<void> {
    this.executions++;
    throw new Error('The card was refused');
  }
}

function aJob(fields: Partial<Parameters<typeof newJob>[0]> = {}) {
  const createdAt = new Date();
  const job = { id: newId(createdAt), createdAt, queue: 'default', handler: 'Payments.capture', args: '[]' };
  return newJob({ ...job, retry: Retry.none, ...fields });
}

describe('a commit that took place and whose answer was lost', () => {
  describeOnStores(['postgres'], (freshStore) => {
    let store: PostgresAddress;
    let proxy: TcpProxy;
    /** Reaches the server through the proxy. */
    let far: Storage;
    /** Reaches the server directly. */
    let near: Storage & AsyncDisposable;

    beforeEach(async () => {
      store = freshStore() as PostgresAddress;
      proxy = await TcpProxy.start(store.url);
      far = await openStore(throughProxy());
      near = await openStore(store);
    });

    afterEach(async () => {
      await far.close();
      await near.close();
      await proxy[Symbol.asyncDispose]();
    });

    const throughProxy = (): StorageRegistration =>
      postgresStorage({ url: proxy.urlOf(store.url), schema: store.schema, listen: false });
    const everyJob = async () => (await near.monitoring.queryJobs({})).items;

    it.each([
      ['alone', 'millrace_enqueue', [aJob()]],
      ['with a key', COMMIT, [aJob({ idempotencyKey: 'payment 1' })]],
      ['in a batch', 'millrace_enqueue', [aJob(), aJob(), aJob()]],
      ['in a batch with keys', COMMIT, [aJob({ idempotencyKey: 'payment 1' }), aJob({ idempotencyKey: 'payment 2' })]],
    ])('has stored a job that was enqueued %s once, and its caller learns its own id', async (_, request, jobs) => {
      proxy.loseAnswerTo(request);

      const ids = await far.jobs.enqueue(jobs);

      expect(proxy.hasLostAnswer).toBe(true);
      expect(ids).toEqual(jobs.map(({ id }) => id));
      expect((await everyJob()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    });

    it('is told from one that never took place: the call is then made once more', async () => {
      const job = aJob({ idempotencyKey: 'payment 1' });
      proxy.loseAnswerTo('millrace_enqueue_unless_taken');

      const ids = await far.jobs.enqueue([job]);

      expect(proxy.hasLostAnswer).toBe(true);
      expect(ids).toEqual([job.id]);
      expect(await everyJob()).toHaveLength(1);
    });

    it("answers with the holder's id where another job holds the key", async () => {
      const holder = aJob({ idempotencyKey: 'payment 1' });
      await near.jobs.enqueue([holder]);
      const [late, free] = [aJob({ idempotencyKey: 'payment 1' }), aJob({ idempotencyKey: 'payment 2' })];
      proxy.loseAnswerTo(COMMIT);

      const ids = await far.jobs.enqueue([late, free]);

      expect(proxy.hasLostAnswer).toBe(true);
      expect(ids).toEqual([holder.id, free.id]);
      expect(await everyJob()).toHaveLength(2);
    });

    it.each(['cancel', 'delete'] as const)('leaves %s unable to tell, and it says so', async (operation) => {
      const job = aJob();
      await near.jobs.enqueue([job]);
      if (operation === 'delete') await near.jobs.cancel(job.id);
      proxy.loseAnswerTo(COMMIT);

      const error = await far.jobs[operation](job.id).catch((thrown: unknown) => thrown as MillraceError);

      expect(proxy.hasLostAnswer).toBe(true);
      expect(error).toMatchObject({ code: 'MILLRACE_OUTCOME_UNKNOWN' });
      expect((await near.jobs.getJob(job.id))?.state).toBe(operation === 'cancel' ? JobState.Cancelled : undefined);
    });

    it.each([
      ['succeeded', 'millrace_apply_succeeded', 'capture', { state: JobState.Succeeded, failures: 0 }],
      ['succeeded and added another', COMMIT, 'captureAndNotify', { state: JobState.Succeeded, failures: 0 }],
      ['failed for good', COMMIT, 'fail', { state: JobState.Dead, failures: 1 }],
    ] as const)('has ended a job that %s, which is not run again', async (_, request, method, end) => {
      await using node = await RunningNode.start({ store: throughProxy(), providers: [Payments] });
      await node.jobs.enqueue(Payments, (payments) => payments.capture());
      await node.allEnded();
      proxy.loseAnswerTo(request);

      const id = await node.jobs.enqueue(Payments, (payments) => payments[method](), { retry: Retry.none });
      const job = await node.ended(id);
      await node.allEnded();

      expect(proxy.hasLostAnswer).toBe(true);
      expect(job).toMatchObject({ ...end, attempt: 1 });
      expect(job.attempts).toHaveLength(end.failures);
      expect(node.get(Payments).executions).toBe(2);
      expect(node.get(Payments).notifications).toBe(method === 'captureAndNotify' ? 1 : 0);
    });

    it('has claimed a job, which is given back at once and run', async () => {
      await using node = await RunningNode.start({
        store: throughProxy(),
        providers: [Payments],
      });
      await node.jobs.enqueue(Payments, (payments) => payments.capture());
      await node.allEnded();
      await node.jobs.pauseQueue('default');
      const id = await node.jobs.enqueue(Payments, (payments) => payments.capture());
      proxy.loseAnswerTo('millrace_claim_queue');

      await node.jobs.resumeQueue('default');
      const job = await node.ended(id);

      expect(proxy.hasLostAnswer).toBe(true);
      expect(job).toMatchObject({ state: JobState.Succeeded, failures: 0, interruptions: 0 });
      expect(node.get(Payments).executions).toBe(2);
    });
  });
});
