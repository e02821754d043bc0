import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx } from 'nestjs-millrace';
import { FakeClock, later, MINUTE, SECOND } from 'nestjs-millrace/storage';
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

describe('an occurrence that the clock seems to reach twice', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore, kind) => {
    const start = (clock: FakeClock, store = freshStore()) =>
      RunningNode.start({ store, clock, schedulerEnabled: false, providers: [Reports] });

    it('runs once when a timer wakes the scheduler some milliseconds before the instant', async () => {
      const clock = new FakeClock(new Date('2026-03-01T08:00:00.000Z'));
      await using node = await start(clock);
      await node.jobs.upsertRecurring('report', '45 8 * * *', Reports, (reports) => reports.generate());

      for (const wakeUp of ['08:44:59.990', '08:45:00.001', '08:45:00.002', '08:45:59.999']) {
        clock.set(new Date(`2026-03-01T${wakeUp}Z`));
        await node.runSchedulerPass();
      }
      await node.allEnded();

      expect(node.get(Reports).occurrences).toEqual(['2026-03-01T08:45:00.000Z']);
      expect((await node.jobs.getRecurring('report'))!.nextFireTime).toEqual(new Date('2026-03-02T08:45:00.000Z'));
    });

    it('runs once when the clock is set back behind it', async () => {
      const clock = new FakeClock(new Date('2026-03-01T09:30:00.000Z'));
      await using node = await start(clock);
      await node.jobs.upsertRecurring('report', '0 * * * *', Reports, (reports) => reports.generate());
      clock.set(new Date('2026-03-01T10:00:00.000Z'));
      await node.runSchedulerPass();

      clock.set(new Date('2026-03-01T09:55:00.000Z'));
      const next = (await node.jobs.getRecurring('report'))!.nextFireTime;
      // A redeploy stores its schedules again.
      await node.jobs.upsertRecurring('report', '0 * * * *', Reports, (reports) => reports.generate());
      for (let minutes = 0; minutes < 10; minutes++) {
        await node.runSchedulerPass();
        await node.allEnded();
        clock.advance(MINUTE);
      }

      expect(node.get(Reports).occurrences).toEqual(['2026-03-01T10:00:00.000Z']);
      expect(next).toEqual(new Date('2026-03-01T11:00:00.000Z'));
      expect((await node.jobs.getRecurring('report'))!.nextFireTime).toEqual(next);
    });

    it('is not moved back to by a changed expression while the clock is behind it', async () => {
      const clock = new FakeClock(new Date('2026-03-01T09:30:00.000Z'));
      await using node = await start(clock);
      await node.jobs.upsertRecurring('report', '0 * * * *', Reports, (reports) => reports.generate());
      clock.set(new Date('2026-03-01T10:00:00.000Z'));
      await node.runSchedulerPass();

      clock.set(new Date('2026-03-01T09:55:00.000Z'));
      await node.jobs.upsertRecurring('report', '*/30 * * * *', Reports, (reports) => reports.generate());

      expect((await node.jobs.getRecurring('report'))!.nextFireTime).toEqual(new Date('2026-03-01T10:30:00.000Z'));
    });

    if (kind === 'memory') return; // it has one clock, whoever shares it

    it('runs once for each instant on two nodes whose clocks differ by 90 s', async () => {
      const store = freshStore();
      const startingAt = new Date('2026-03-01T10:00:30.000Z');
      const clocks = [new FakeClock(startingAt), new FakeClock(later(startingAt, 90 * SECOND))];
      await using behind = await start(clocks[0]!, store);
      await using ahead = await start(clocks[1]!, store);
      await ahead.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate());

      for (let step = 0; step < 60; step++) {
        for (const clock of clocks) clock.advance(30 * SECOND);
        await Promise.all([behind.runSchedulerPass(), ahead.runSchedulerPass()]);
        await ahead.allEnded();
      }

      const first = new Date('2026-03-01T10:03:00.000Z');
      const planned = Array.from({ length: 30 }, (_, minute) => later(first, minute * MINUTE).toISOString());
      const ran = [...behind.get(Reports).occurrences, ...ahead.get(Reports).occurrences].toSorted();
      expect(ran).toEqual(planned);
    });
  });
});
