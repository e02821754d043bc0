import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { FakeClock, HOUR, JobState, MINUTE, SECOND } from 'nestjs-millrace/storage';
import { Patience } from '../../lib/worker/patience';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';

@Injectable()
class Invoices {
  readonly sent: string[] = [];

  @Job()
  async send(label: string): Promise<void> {
    this.sent.push(label);
  }
}

/** What the new version of the application brings. */
@Injectable()
class Exports {
  readonly made: string[] = [];

  @Job()
  async make(label: string): Promise<void> {
    this.made.push(label);
  }
}

describe('a node that is older than the jobs on its queue', () => {
  afterEach(() => jest.restoreAllMocks());

  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (
      store: StoreAddress,
      clock: FakeClock,
      providers: (typeof Invoices | typeof Exports)[],
      worker = true,
    ) => RunningNode.start({ store, clock, schedulerEnabled: false, workerEnabled: worker, providers });

    /** Lets time pass for all nodes, and waits each time until nothing is left to do. */
    async function letTimePass(clock: FakeClock, step: number, times: number, node: RunningNode): Promise<void> {
      for (let count = 0; count < times; count++) {
        clock.advance(step);
        await node.runSchedulerPass();
        await node.settled();
      }
    }

    it('leaves what it does not know to the new node, spends no retry on it and runs what it knows', async () => {
      // A busy machine may keep the new node from its turn for longer than the old one waits for it.
      jest.spyOn(Patience.prototype, 'lasts').mockReturnValue(true);
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T10:00:30.000Z'));
      await using producer = await start(store, clock, [Invoices, Exports], false);
      await using old = await start(store, clock, [Invoices]);
      for (let index = 0; index < 20; index++) {
        await producer.jobs.enqueue(Exports, (exports) => exports.make(`export ${index}`));
      }
      await producer.jobs.upsertRecurring('export', '* * * * *', Exports, (exports) => exports.make('recurring'));
      await producer.jobs.enqueue(Invoices, (invoices) => invoices.send('beside it'));
      await old.settled();
      await letTimePass(clock, SECOND, 34, old);
      const whileAlone = (await old.everyJob()).filter(({ handler }) => handler === 'Exports.make');

      await using deployed = await start(store, clock, [Invoices, Exports]);
      await eventually(async () => expect(await old.storage.getNodes()).toHaveLength(2)); // it has told of itself
      // The old node's scheduler is the first to see that they are due.
      await letTimePass(clock, MINUTE, 1, old);
      const afterwards = await Promise.all(whileAlone.map(async ({ id }) => (await old.jobs.getJob(id))!));
      await letTimePass(clock, 5 * SECOND, 1, old); // an occurrence of that minute may have been put back once

      expect(whileAlone).toHaveLength(21);
      for (const job of whileAlone) {
        expect(job).toMatchObject({ state: JobState.Scheduled, failures: 0, interruptions: 0 });
        expect(job.attempt).toBeLessThanOrEqual(3); // at once, after 5 s, after 10 s more; 20 s more are not over
        expect(job.lastError).toContain('"Exports.make"');
      }
      expect(afterwards.map(({ state, attempt }) => [state, attempt])).toEqual(
        whileAlone.map(({ attempt }) => [JobState.Succeeded, attempt + 1]),
      );
      expect(old.get(Invoices).sent).toEqual(['beside it']);
      expect(old.log.complaints('Exports.make')).toHaveLength(1);
      expect(deployed.get(Exports).made.filter((name) => name === 'recurring')).toHaveLength(2);
      expect(await deployed.countOf(JobState.Succeeded)).toBe(23);
      expect(await deployed.countOf(JobState.Scheduled, JobState.Dead, JobState.Failed)).toBe(0);
    });

    it('keeps them, visibly, when no newer node ever comes', async () => {
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T10:00:00.000Z'));
      await using producer = await start(store, clock, [Exports], false);
      await using old = await start(store, clock, [Invoices]);
      const id = await producer.jobs.enqueue(Exports, (exports) => exports.make('export'));
      await old.settled();

      await letTimePass(clock, MINUTE, HOUR / MINUTE, old);

      const job = (await old.jobs.getJob(id))!;
      expect(job).toMatchObject({ state: JobState.Scheduled, failures: 0, interruptions: 0 });
      expect(job.lastError).toContain('"Exports.make"');
      expect(job.attempt).toBeGreaterThan(30); // it is looked at once a minute, for as long as it takes
      expect(job.attempt).toBeLessThanOrEqual(62);
      expect(job.dueAt!.getTime() - clock.now().getTime()).toBeLessThanOrEqual(MINUTE);
      expect(old.log.complaints('Exports.make')).toHaveLength(1);
    });
  });
});
