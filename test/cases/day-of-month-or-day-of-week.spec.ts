import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx } from 'nestjs-millrace';
import { FakeClock } from 'nestjs-millrace/storage';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

@Injectable()
class Reports {
  readonly occurrences: string[] = [];

  @Job()
  async generate(@JobCtx() ctx?: JobContext): Promise<void> {
    this.occurrences.push(ctx!.occurrenceAt!.toISOString());
  }
}

const SCHEDULES = [
  {
    cron: '0 5 2-8 * 4',
    after: '2021-01-09T17:48:00.000Z',
    occurrences: ['2021-01-14', '2021-01-21', '2021-01-28', '2021-02-02', '2021-02-03', '2021-02-04'],
    time: 'T05:00:00.000Z',
  },
  {
    cron: '0 4 1 * 1-5',
    after: '2019-10-01T05:00:00.000Z',
    occurrences: ['2019-10-02', '2019-10-03', '2019-10-04', '2019-10-07'],
    time: 'T04:00:00.000Z',
  },
  {
    cron: '0 0 * 6 1',
    after: '2021-04-13T00:00:00.000Z',
    occurrences: ['2021-06-07', '2021-06-14', '2021-06-21', '2021-06-28', '2022-06-06'],
    time: 'T00:00:00.000Z',
  },
];

describe('a schedule with a day of month and a day of week', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it.each(SCHEDULES)('runs $cron on the days that either field names', async ({ cron, after, occurrences, time }) => {
      const clock = new FakeClock(new Date(after));
      await using node = await RunningNode.start({
        store: freshStore(),
        clock,
        schedulerEnabled: false,
        providers: [Reports],
      });
      await node.jobs.upsertRecurring('report', cron, Reports, (reports) => reports.generate());

      for (let count = 0; count < occurrences.length; count++) {
        clock.set((await node.jobs.getRecurring('report'))!.nextFireTime!);
        await node.runSchedulerPass();
        await node.allEnded();
      }

      expect(node.get(Reports).occurrences).toEqual(occurrences.map((day) => day + time));
    });
  });
});
