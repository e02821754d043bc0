import { Injectable } from '@nestjs/common';
import { InvalidCronError, Job } from 'nestjs-millrace';
import { FakeClock, MINUTE } from 'nestjs-millrace/storage';
import { cpuTime } from '../support/cpu-time';
import { eventually } from '../support/eventually';
import { EventLoopLag } from '../support/event-loop-lag';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

@Injectable()
class Reports {
  readonly generated: string[] = [];

  @Job()
  async generate(name: string): Promise<void> {
    this.generated.push(name);
  }
}

const REFUSED: [expression: unknown, field: string | null][] = [
  ['0 0 30 2 *', 'day of month'],
  ['0 0 31 4 *', 'day of month'],
  ['0 0 31 2,4,6 *', 'day of month'],
  ['* * * *', null],
  ['60 * * * *', 'minute'],
  ['*/0 * * * *', 'minute'],
  ['5-1 * * * *', 'minute'],
  ['* * * * 8', 'day of week'],
  ['0 0 0 * * *', null],
  ['', null],
  [null, null],
];

describe('a date that can never come and an expression that is malformed', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('are refused within a second, named, and leave the definition of that id as it was', async () => {
      await using node = await RunningNode.start({
        store: freshStore(),
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Reports],
      });
      await node.jobs.upsertRecurring('nightly', '0 3 * * *', Reports, (reports) => reports.generate('nightly'));
      const before = await node.jobs.getRecurring('nightly');

      for (const [expression, field] of REFUSED) {
        for (const id of ['nightly', 'another']) {
          const begunAt = cpuTime();
          const error = await node.jobs
            .upsertRecurring(id, expression as string, Reports, (reports) => reports.generate('never'))
            .catch((thrown: unknown) => thrown);
          const took = cpuTime() - begunAt;

          expect(error).toBeInstanceOf(InvalidCronError);
          expect(error).toMatchObject({
            code: 'MILLRACE_INVALID_CRON',
            field,
            message: expect.stringContaining(`"${String(expression)}"${field === null ? '' : `, ${field}`}`),
          });
          expect(took).toBeLessThan(1_000);
        }
      }

      expect(await node.jobs.getRecurring('nightly')).toEqual(before);
      expect(await node.jobs.getRecurring('another')).toBeNull();
    });

    it('cannot stop a node that finds one stored: it is parked, with one log line, and the others keep firing', async () => {
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T00:00:30.000Z'));
      await using producer = await RunningNode.start({
        store,
        clock,
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Reports],
      });
      for (const id of ['poisoned', 'healthy']) {
        await producer.jobs.upsertRecurring(id, '* * * * *', Reports, (reports) => reports.generate(id));
      }
      const poisoned = (await producer.jobs.getRecurring('poisoned'))!;
      await producer.storage.upsertRecurring({ ...poisoned, cron: '0 0 30 2 *' });
      using lag = new EventLoopLag();

      await using node = await RunningNode.start({ store, clock, providers: [Reports] });
      for (let minute = 1; minute <= 5; minute++) {
        clock.advance(MINUTE);
        await eventually(() => expect(node.get(Reports).generated).toHaveLength(minute));
      }

      expect(node.get(Reports).generated).toEqual(Array(5).fill('healthy'));
      expect(await node.jobs.getRecurring('poisoned')).toMatchObject({
        nextFireTime: null,
        parkedReason: expect.stringContaining('"0 0 30 2 *", day of month'),
      });
      expect(node.log.complaints('poisoned')).toHaveLength(1);
      expect(lag.longest).toBeLessThan(500);
    });

    it('is cured by storing the definition anew', async () => {
      const clock = new FakeClock(new Date('2026-03-01T00:00:30.000Z'));
      await using node = await RunningNode.start({
        store: freshStore(),
        clock,
        schedulerEnabled: false,
        providers: [Reports],
      });
      await node.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate('cured'));
      await node.storage.upsertRecurring({ ...(await node.jobs.getRecurring('report'))!, cron: '0 0 30 2 *' });
      clock.advance(MINUTE);
      await node.runSchedulerPass();

      await node.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate('cured'));
      clock.advance(MINUTE);
      await node.runSchedulerPass();
      await node.allEnded();

      expect(node.get(Reports).generated).toEqual(['cured']);
    });
  });
});
