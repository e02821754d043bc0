import { Logger } from '@nestjs/common';
import { FakeClock, inMemoryStorage, newId, newJob, type NodeRecord, Retry, SECOND } from 'nestjs-millrace/storage';
import { resolveOptions } from '../../../lib/millrace.options';
import { putBack } from '../../../lib/worker/job-outcomes';
import { PutBacks } from '../../../lib/worker/put-backs';
import { WorkerContext } from '../../../lib/worker/worker-context';

Logger.overrideLogger(false);
const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

/** A node that lacks a handler, on a store and a clock that stand still; nothing in it runs by itself. */
async function aNode() {
  const clock = new FakeClock();
  const registration = inMemoryStorage();
  const storage = registration.create({ clock, logger: silent, lockTimeout: 5000 });
  await storage.open();
  const { jobs } = storage;
  const context = new WorkerContext(jobs, resolveOptions({ storage: registration, clock, schedulerInterval: 1000 }));
  const putBacks = new PutBacks(context);
  const time = { now: 0 };
  jest.spyOn(performance, 'now').mockImplementation(() => time.now);

  const claim = (workerId: string) =>
    jobs.claim({
      workerId,
      queues: ['default'],
      limit: 1,
      leaseDuration: 60 * SECOND,
      maxPayload: 1000,
      expired: false,
      suspects: false,
    });
  const claimAndPutBack = async (workerId: string): Promise<string> => {
    const [job] = await claim(workerId);
    const transition = putBack(job!, workerId, 'No such handler.', clock.now());
    await jobs.apply([transition]);
    if (workerId === context.id) putBacks.add(job!.id, transition.dueAt!);
    return job!.id;
  };
  const enqueue = () => {
    const createdAt = clock.now();
    const fields = { id: newId(createdAt), createdAt, queue: 'default', handler: 'Exports.make', args: '[]' };
    return jobs.enqueue([newJob({ ...fields, retry: Retry.none })]);
  };
  const tellOf = (id: string, fields: Partial<NodeRecord> = {}) =>
    jobs.recordNode({
      id,
      host: 'host',
      queues: ['default'],
      maxParallelism: 20,
      running: 0,
      version: '1.0.0',
      startedAt: clock.now(),
      heartbeatAt: clock.now(),
      ...fields,
    });
  await tellOf(context.id);
  return { clock, jobs, id: context.id, putBacks, time, claim, claimAndPutBack, enqueue, tellOf };
}

afterEach(() => jest.restoreAllMocks());

describe('Jobs that a node has put back', () => {
  it('cost nothing before they are due', async () => {
    const { clock, jobs, id, putBacks, claimAndPutBack, enqueue, tellOf } = await aNode();
    await enqueue();
    await claimAndPutBack(id);
    await tellOf('another');
    const reads = [jest.spyOn(jobs, 'getJob'), jest.spyOn(jobs, 'getNodes')];

    clock.advance(5 * SECOND - 1);
    const waits = [await putBacks.claimsWait(), await putBacks.activationWaits()];

    expect(waits).toEqual([false, false]);
    for (const read of reads) expect(read).not.toHaveBeenCalled();
  });

  it('hold up claims while they are there to be claimed, until another node has taken them', async () => {
    const { clock, jobs, id, putBacks, claim, claimAndPutBack, enqueue, tellOf } = await aNode();
    for (let job = 0; job < 2; job++) {
      await enqueue();
      await claimAndPutBack(id);
      clock.advance(1);
    }
    await tellOf('another');
    clock.advance(5 * SECOND);
    const beforeActivation = await putBacks.claimsWait();

    await jobs.activateDue(10);
    const waits = [await putBacks.claimsWait()];
    for (let job = 0; job < 2; job++) {
      await claim('another');
      waits.push(await putBacks.claimsWait());
    }

    expect(beforeActivation).toBe(false);
    expect(waits).toEqual([true, true, false]);
  });

  it.each([
    ['there is no other node', {}, false],
    ['the other node claims from another queue', { queues: ['mail'] }, true],
  ])('hold up nothing where %s', async (_, fields, another) => {
    const { clock, jobs, id, putBacks, claimAndPutBack, enqueue, tellOf } = await aNode();
    await enqueue();
    await claimAndPutBack(id);
    if (another) await tellOf('another', fields);
    clock.advance(5 * SECOND);

    const activation = await putBacks.activationWaits();
    await jobs.activateDue(10);
    const reading = jest.spyOn(jobs, 'getJob');

    expect([activation, await putBacks.claimsWait()]).toEqual([false, false]);
    expect(reading).not.toHaveBeenCalled(); // that it is alone has been seen before
  });

  it('hold up claims for 250 ms at the most, and not again within 5 s', async () => {
    const { clock, jobs, id, putBacks, time, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    await enqueue();
    await claimAndPutBack(id);
    clock.advance(5 * SECOND);
    await jobs.activateDue(10);
    const waitsAt = async (now: number) => {
      time.now = now;
      return putBacks.claimsWait();
    };

    expect(await waitsAt(1000)).toBe(true);
    expect(await waitsAt(1249)).toBe(true);
    expect(await waitsAt(1250)).toBe(false);
    await claimAndPutBack(id); // nobody else wanted it
    clock.advance(10 * SECOND);
    await jobs.activateDue(10);
    expect(await waitsAt(6249)).toBe(false);
    await claimAndPutBack(id);
    clock.advance(20 * SECOND);
    await jobs.activateDue(10);
    expect(await waitsAt(6250)).toBe(true);
  });

  it('hold up claims once where nobody can take them, since their queue is paused', async () => {
    const { clock, jobs, id, putBacks, time, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    await enqueue();
    await claimAndPutBack(id);
    await jobs.setQueuePaused('default', true);
    clock.advance(5 * SECOND);
    await jobs.activateDue(10);

    const waits: boolean[] = [];
    for (const now of [0, 250, 1000, 5250]) {
      time.now = now;
      waits.push(await putBacks.claimsWait());
    }

    expect(waits).toEqual([true, false, false, false]);
  });

  it('have a wait of their own each time', async () => {
    const { clock, jobs, id, putBacks, time, claim, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    for (let job = 0; job < 2; job++) {
      await enqueue();
      await claimAndPutBack(id);
      clock.advance(SECOND);
    }
    const waits: boolean[] = [];
    clock.advance(3 * SECOND);

    for (const now of [0, 1000]) {
      time.now = now;
      await jobs.activateDue(10);
      waits.push(await putBacks.claimsWait());
      await claim('another');
      waits.push(await putBacks.claimsWait());
      clock.advance(SECOND);
    }

    expect(waits).toEqual([true, false, true, false]);
  });

  it('are left to the schedulers of other nodes for one look of theirs', async () => {
    const { clock, jobs, id, putBacks, time, claim, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    for (let job = 0; job < 2; job++) {
      await enqueue();
      await claimAndPutBack(id);
      clock.advance(2 * SECOND);
    }
    clock.advance(SECOND);
    const waitsAt = async (now: number) => {
      time.now = now;
      return putBacks.activationWaits();
    };

    expect(await waitsAt(1000)).toBe(true);
    await jobs.activateDue(10);
    await claim('another');
    clock.advance(2 * SECOND); // now the second one is due, which nobody looks at
    expect(await waitsAt(3000)).toBe(true);
    expect(await waitsAt(4249)).toBe(true);
    expect(await waitsAt(4250)).toBe(false);
    expect(await waitsAt(9249)).toBe(false);
    expect(await waitsAt(9250)).toBe(true);
  });

  it('come first to others again after another node has put them back as well', async () => {
    const { clock, jobs, id, putBacks, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    await enqueue();
    await claimAndPutBack(id);
    clock.advance(5 * SECOND);
    await jobs.activateDue(10);
    await claimAndPutBack('another');

    const meanwhile = await putBacks.claimsWait();
    clock.advance(10 * SECOND);
    await jobs.activateDue(10);

    expect(meanwhile).toBe(false);
    expect(await putBacks.claimsWait()).toBe(true);
  });

  it('hold up nothing while the store cannot be reached', async () => {
    const { clock, jobs, id, putBacks, claimAndPutBack, enqueue, tellOf } = await aNode();
    await tellOf('another');
    await enqueue();
    await claimAndPutBack(id);
    clock.advance(5 * SECOND);
    await jobs.activateDue(10);
    jest.spyOn(jobs, 'getNodes').mockRejectedValueOnce(new Error('connection refused'));

    expect(await putBacks.claimsWait()).toBe(false);
    expect(await putBacks.claimsWait()).toBe(true);
  });
});
