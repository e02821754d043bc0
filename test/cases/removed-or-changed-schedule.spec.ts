import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx } from 'nestjs-millrace';
import { FakeClock, JobState, MINUTE, SECOND } from 'nestjs-millrace/storage';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';

interface Generated {
  readonly report: string;
  readonly planned: string;
  readonly recurringId: string | null;
}

@Injectable()
class Reports {
  readonly generated: Generated[] = [];

  @Job()
  async generate(report: string, @JobCtx() ctx?: JobContext): Promise<void> {
    this.generated.push({ report, planned: ctx!.occurrenceAt!.toISOString(), recurringId: ctx!.recurringId });
  }
}

@Injectable()
class Invoices {
  @Job()
  async send(): Promise<void> {}
}

describe('a schedule that was removed or changed', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (store: StoreAddress, clock: FakeClock, workerEnabled = true) =>
      RunningNode.start({ store, clock, workerEnabled, schedulerEnabled: false, providers: [Reports, Invoices] });

    it('does not fire again once another node has removed it; what it had fired runs and names it', async () => {
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T10:00:30.000Z'));
      await using web = await start(store, clock, false);
      await web.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate('usage'));
      clock.set(new Date('2026-03-01T10:01:00.000Z'));
      await web.runSchedulerPass(); // enqueued, and no worker yet

      clock.advance(40 * SECOND);
      await web.jobs.removeRecurring('report');
      await using worker = await start(store, clock);
      for (let minute = 0; minute < 3; minute++) {
        clock.advance(MINUTE);
        await Promise.all([worker.runSchedulerPass(), web.runSchedulerPass()]);
        await worker.allEnded();
      }

      expect(worker.get(Reports).generated).toEqual([
        { report: 'usage', planned: '2026-03-01T10:01:00.000Z', recurringId: 'report' },
      ]);
      expect(await worker.jobs.getRecurring('report')).toBeNull();
    });

    it('has one definition under its id, which fires at the new times only, with the new arguments', async () => {
      const clock = new FakeClock(new Date('2026-03-01T02:57:30.000Z'));
      await using node = await start(freshStore(), clock);
      await node.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate('usage'));
      clock.set(new Date('2026-03-01T02:58:00.000Z'));
      await node.runSchedulerPass();
      await node.allEnded();

      await node.jobs.upsertRecurring('report', '0 3 * * *', Reports, (reports) => reports.generate('revenue'));
      for (let minute = 0; minute < 5; minute++) {
        clock.advance(MINUTE);
        await node.runSchedulerPass();
        await node.allEnded();
      }

      expect(node.get(Reports).generated).toEqual([
        { report: 'usage', planned: '2026-03-01T02:58:00.000Z', recurringId: 'report' },
        { report: 'revenue', planned: '2026-03-01T03:00:00.000Z', recurringId: 'report' },
      ]);
      const { items } = await node.monitoring.queryRecurring({});
      expect(items.map(({ id, cron }) => [id, cron])).toEqual([['report', '0 3 * * *']]);
    });

    it('does not hold up the others when its handler is gone: it waits visibly, and the process stays up', async () => {
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T10:00:30.000Z'));
      await using before = await start(store, clock, false);
      await before.jobs.upsertRecurring('usage', '* * * * *', Reports, (reports) => reports.generate('usage'));
      await before.jobs.upsertRecurring('invoices', '* * * * *', Invoices, (invoices) => invoices.send());
      await before.jobs.upsertRecurring('revenue', '* * * * *', Reports, (reports) => reports.generate('revenue'));
      await before.close();

      await using redeployed = await RunningNode.start({
        store,
        clock,
        schedulerEnabled: false,
        providers: [Reports],
      });
      for (let minute = 0; minute < 3; minute++) {
        clock.advance(MINUTE);
        await redeployed.runSchedulerPass();
        await redeployed.settled();
      }

      const times = redeployed
        .get(Reports)
        .generated.map(({ report, planned }) => `${report} ${planned.slice(11, 16)}`);
      expect(times.toSorted()).toEqual([
        ...['10:01', '10:02', '10:03'].map((time) => `revenue ${time}`),
        ...['10:01', '10:02', '10:03'].map((time) => `usage ${time}`),
      ]);
      const waiting = (await redeployed.everyJob()).filter(({ recurringId }) => recurringId === 'invoices');
      expect(waiting.map(({ state }) => state)).toEqual(Array(3).fill(JobState.Scheduled));
      expect(waiting[0]!.lastError).toContain('"Invoices.send"');
      expect(redeployed.log.complaints('Invoices.send')).toHaveLength(1);
    });
  });
});
