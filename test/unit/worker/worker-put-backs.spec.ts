import { Injectable } from '@nestjs/common';
import { Job, Retry } from 'nestjs-millrace';
import { FakeClock, type IJobStorage } from 'nestjs-millrace/storage';
import { Patience } from '../../../lib/worker/patience';
import { Application, eventually, sharedStorage } from './an-application';

@Injectable()
class Known {
  readonly ran: string[] = [];

  @Job({ retry: Retry.none })
  async note(name: string): Promise<void> {
    this.ran.push(name);
  }
}

/** What the older node lacks. */
@Injectable()
class Unknown {
  @Job({ retry: Retry.none })
  async make(): Promise<void> {}
}

/** An older node and a producer on one store, and a job that the older node has put back once. */
async function anOlderNode(options = {}) {
  const [storage, clock] = [sharedStorage(), new FakeClock()];
  const idle = { workerEnabled: false, schedulerEnabled: false };
  const producer = await Application.start({ providers: [Unknown] }, { storage, clock, ...idle });
  const older = await Application.start({ providers: [Known] }, { storage, clock, ...options });
  const id = await producer.jobs.enqueue(Unknown, (unknown) => unknown.make());
  await older.job(id, 'Scheduled');
  return { storage, clock, producer, older, id };
}

/** A busy machine may keep the other node from its turn for longer than this one waits. */
function waitForOthersForEver(): jest.SpyInstance {
  return jest.spyOn(Patience.prototype, 'lasts').mockReturnValue(true);
}

/** A node that claims nothing, and says that it would. */
function anotherNode(storage: IJobStorage, startedAt: Date): Promise<void> {
  const fields = { host: 'host', maxParallelism: 1, running: 0, version: '1.0.0', startedAt, heartbeatAt: startedAt };
  return storage.recordNode({ id: 'another', queues: ['default'], ...fields });
}

describe('A node that has put a job back for want of its handler', () => {
  it('lets a node that knows it run it as soon as it is due again', async () => {
    const { storage, clock, older, id } = await anOlderNode();
    waitForOthersForEver();
    const newer = await Application.start({ providers: [Known, Unknown] }, { storage, clock });
    await eventually(async () => (await older.storage.getNodes()).length >= 2 || undefined);

    clock.advance('5s');
    const job = await older.job(id, 'Succeeded');

    expect(job).toMatchObject({ attempt: 2, releases: 1, failures: 0, interruptions: 0 });
    await newer.close();
  });

  it('runs what it knows while nobody takes it, and puts it back once more', async () => {
    const { clock, producer, older, id } = await anOlderNode();
    await anotherNode(older.storage, clock.now());

    clock.advance('5s');
    await producer.storage.activateDue(10);
    const known = await older.jobs.enqueue(Known, (work) => work.note('beside it'));
    await older.job(known, 'Succeeded');
    const job = await eventually(async () => {
      const found = (await older.storage.getJob(id))!;
      return found.releases === 2 ? found : undefined;
    });

    expect(job).toMatchObject({ state: 'Scheduled', attempt: 2, failures: 0 });
    expect(older.context.get(Known).ran).toEqual(['beside it']);
  });

  it('leaves it to the schedulers of other nodes to make it claimable, for a while', async () => {
    const { clock, older, id } = await anOlderNode({ schedulerInterval: 20 });
    await anotherNode(older.storage, clock.now());
    const patience = waitForOthersForEver();
    const [activate, probe] = [jest.spyOn(older.storage, 'activateDue'), jest.spyOn(older.storage, 'probe')];

    clock.advance('5s');
    await eventually(() => probe.mock.calls.length >= 5 || undefined);
    const whileItWaits = activate.mock.calls.length;
    patience.mockRestore();
    await eventually(async () => (await older.storage.getJob(id))!.releases === 2 || undefined);

    expect(whileItWaits).toBe(0);
    expect(activate).toHaveBeenCalled();
  });

  it('claims nothing more when it is stopped while it waits', async () => {
    const { clock, producer, older, id } = await anOlderNode({ shutdownTimeout: 100_000 });
    await anotherNode(older.storage, clock.now());
    const patience = waitForOthersForEver();
    const claim = jest.spyOn(older.storage, 'claim');
    clock.advance('5s');
    await producer.storage.activateDue(10);
    await eventually(() => patience.mock.calls.length >= 3 || undefined);
    claim.mockClear();

    await older.close();

    expect(claim).not.toHaveBeenCalled();
    expect(await producer.storage.getJob(id)).toMatchObject({ state: 'Enqueued', attempt: 1 });
  });
});
