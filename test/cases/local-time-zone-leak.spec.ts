import { FakeClock, HOUR, JobState, later, MINUTE } from 'nestjs-millrace/storage';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { describeOnStores, openStore } from '../support/stores';

/** The days around both changes of the clocks in New York. */
const CHANGES = [
  { season: 'spring', days: ['2025-03-08', '2025-03-09', '2025-03-10', '2025-03-11'] },
  { season: 'autumn', days: ['2025-11-01', '2025-11-02', '2025-11-03', '2025-11-04'] },
];

const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));

describe('the time zone of a process and of a database session', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('does not move a schedule when the clocks of that zone change', async () => {
      await using node = await ChildNode.start(
        {
          store: freshStore(),
          startingAt: '2025-03-07T23:59:00.000Z',
          options: { schedulerEnabled: false, workerEnabled: false },
        },
        { TZ: 'America/New_York' },
      );

      for (const { season, days } of CHANGES) {
        const [from, to] = [`${days[0]}T00:00:00.000Z`, `${days.at(-1)}T23:59:00.000Z`];
        const offsets = await Promise.all([from, to].map((at) => node.call('zone', at)));
        await node.call('setClock', later(new Date(from), -MINUTE).toISOString());
        await node.call('upsertRecurring', `${season}, daily`, '30 2 * * *');
        await node.call('upsertRecurring', `${season}, hourly`, '0 * * * *');
        const fired = await node.call('letTimePass', from, to, HOUR / 2);
        for (const name of ['daily', 'hourly']) await node.call('removeRecurring', `${season}, ${name}`);

        expect(offsets[0]!.offset).not.toBe(offsets[1]!.offset); // the zone is in force, and its clocks have changed
        expect(fired.filter((line) => line.startsWith(season))).toEqual([
          ...days.map((day) => `${season}, daily ${day}T02:30:00.000Z`),
          ...days.flatMap((day) => hours.map((hour) => `${season}, hourly ${day}T${hour}:00:00.000Z`)),
        ]);
      }
    });
  });

  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('shifts no due time and no lease between nodes of different zones', async () => {
      const store = freshStore();
      const startingAt = '2026-03-08T06:55:00.000Z'; // 5 minutes before New York puts its clocks forward
      const settings = { sessionOptions: '-c TimeZone=Asia/Tokyo' };
      await using newYork = await ChildNode.start(
        { store, startingAt, options: { schedulerEnabled: false, workerEnabled: false } },
        { TZ: 'America/New_York' },
      );
      await using kolkata = await ChildNode.start(
        { store, settings, startingAt, options: { schedulerEnabled: false } },
        { TZ: 'Asia/Kolkata' },
      );
      const zones = await Promise.all([newYork, kolkata].map((node) => node.call('zone', startingAt)));
      const delayed = await newYork.call('schedule', 'delayed', '10m');
      const planned = await newYork.call('schedule', 'planned', new Date('2026-03-08T07:30:00.000Z'));

      const seen = await Promise.all(
        [newYork, kolkata].flatMap((node) => [delayed, planned].map((id) => node.call('getJob', id))),
      );
      const claimable: number[] = [];
      for (const instant of ['07:04:59.999', '07:05:00.000', '07:29:59.999', '07:30:00.000']) {
        await kolkata.call('setClock', `2026-03-08T${instant}Z`);
        claimable.push(await kolkata.call('pass'));
        // What runs must have ended before its lease does: this clock leaps.
        await eventually(async () => {
          const jobs = await Promise.all([delayed, planned].map((id) => kolkata.call('getJob', id)));
          for (const job of jobs) expect([JobState.Scheduled, JobState.Succeeded]).toContain(job!.state);
        });
      }

      expect(zones.map(({ offset }) => offset)).toEqual([300, -330]);
      expect(seen.map((job) => job!.dueAt!.toISOString())).toEqual([
        '2026-03-08T07:05:00.000Z',
        '2026-03-08T07:30:00.000Z',
        '2026-03-08T07:05:00.000Z',
        '2026-03-08T07:30:00.000Z',
      ]);
      expect(claimable).toEqual([0, 1, 0, 1]);
      await eventually(() => expect(kolkata.labels('ran')).toEqual(['delayed', 'planned']));

      const held = await newYork.call('wait', 'held', 60_000);
      await eventually(() => expect(kolkata.labels('started')).toEqual(['held']));
      await kolkata.kill();
      const { state, leaseUntil } = (await newYork.call('getJob', held))!;
      const clock = new FakeClock(new Date('2026-03-08T07:34:59.999Z'));
      const storage = await openStore(store, undefined, clock);
      const takeOver = () =>
        storage.jobs.claim({
          workerId: 'survivor',
          queues: ['default'],
          limit: 1,
          leaseDuration: MINUTE,
          maxPayload: 1_000,
          expired: true,
          suspects: false,
        });
      const early = await takeOver();
      clock.advance(1);
      const onTime = await takeOver();
      await storage.close();

      expect(state).toBe(JobState.Processing);
      expect(leaseUntil!.toISOString()).toBe('2026-03-08T07:35:00.000Z');
      expect(early).toEqual([]);
      expect(onTime.map(({ id }) => id)).toEqual([held]);
    });
  });
});
