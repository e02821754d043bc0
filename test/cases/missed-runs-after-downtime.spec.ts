import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx } from 'nestjs-millrace';
import { DAY, FakeClock, MINUTE, SECOND } from 'nestjs-millrace/storage';
import { cpuTime } from '../support/cpu-time';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';

@Injectable()
class Reports {
  readonly occurrences: string[] = [];

  @Job()
  async generate(@JobCtx() ctx?: JobContext): Promise<void> {
    this.occurrences.push(ctx!.occurrenceAt!.toISOString());
  }
}

describe('occurrences that were missed while no node ran', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (store: StoreAddress, clock: FakeClock) =>
      RunningNode.start({ store, clock, schedulerEnabled: false, providers: [Reports] });

    it('are made up for by one run, however many nodes start at once, and the schedule goes on from now', async () => {
      const store = freshStore();
      const clock = new FakeClock(new Date('2026-03-01T00:05:00.000Z'));
      await using before = await start(store, clock);
      await before.jobs.upsertRecurring('report', '*/10 * * * *', Reports, (reports) => reports.generate());
      await before.close();

      clock.advance(DAY);
      await using one = await start(store, clock);
      await using other = await start(store, clock);
      await Promise.all([one.runSchedulerPass(), other.runSchedulerPass()]);
      await Promise.all([one.runSchedulerPass(), other.runSchedulerPass()]);
      await one.allEnded();

      const ran = [...one.get(Reports).occurrences, ...other.get(Reports).occurrences];
      expect(ran).toEqual(['2026-03-01T00:10:00.000Z']);
      expect((await one.jobs.getRecurring('report'))!.nextFireTime).toEqual(new Date('2026-03-02T00:10:00.000Z'));
    });

    it('cost the same whether one or a million and a half were missed', async () => {
      const clock = new FakeClock(new Date('2023-03-01T00:00:30.000Z'));
      await using node = await start(freshStore(), clock);
      await node.jobs.upsertRecurring('report', '* * * * *', Reports, (reports) => reports.generate());

      clock.set(new Date('2026-03-01T00:00:30.000Z'));
      const begunAt = cpuTime();
      const fired = await node.runSchedulerPass();
      const took = cpuTime() - begunAt;
      await node.allEnded();

      expect(fired).toBe(1);
      expect(took).toBeLessThan(1_000);
      expect(await node.everyJob()).toHaveLength(1);
      expect((await node.jobs.getRecurring('report'))!.nextFireTime).toEqual(new Date('2026-03-01T00:01:00.000Z'));
    });

    it('are dropped under the policy "skip" once they are more than a minute late', async () => {
      const clock = new FakeClock(new Date('2026-03-01T00:05:00.000Z'));
      await using node = await start(freshStore(), clock);
      await node.jobs.upsertRecurring('report', '*/10 * * * *', Reports, (reports) => reports.generate(), {
        misfire: 'skip',
      });

      clock.set(new Date('2026-03-01T00:10:59.000Z')); // late, but not too late
      await node.runSchedulerPass();
      await node.allEnded();
      clock.set(new Date('2026-03-02T00:05:00.000Z'));
      await node.runSchedulerPass();
      clock.advance(5 * MINUTE + 30 * SECOND);
      await node.runSchedulerPass();
      await node.allEnded();

      expect(node.get(Reports).occurrences).toEqual(['2026-03-01T00:10:00.000Z', '2026-03-02T00:10:00.000Z']);
    });
  });
});
