import assert from 'node:assert/strict';
import { DAY, later } from '../model/time';
import { aContinuation, aJob, anId, aScheduledJob, dead, stopped, succeeded } from './builders';
import { assertEqual } from './expectations';
import { backingOff, claimed, ended } from './steps';
import type { FactSuite } from './world';

/** An operator may delete what has ended. */
export function deletionFacts({ describe, fact }: FactSuite): void {
  describe('deleting a job', () => {
    fact('removes one that has ended, with its history', async (world) => {
      const { jobs, monitoring } = world;
      for (const end of [succeeded, stopped, dead]) {
        const id = await ended(world, end);

        assert.equal(await jobs.delete(id), true);

        assert.equal(await jobs.getJob(id), null);
        assert.equal(await monitoring.getJobDetails(id), null);
        assert.equal(await jobs.delete(id), false);
      }
    });

    fact('refuses one that has not, and changes nothing of it', async (world) => {
      const { jobs, clock } = world;
      const failing = await backingOff(world, later(clock.now(), DAY));
      const running = await claimed(world);
      const waiting = [aJob(clock), aScheduledJob(clock, later(clock.now(), DAY)), aContinuation(clock, running.id)];
      await jobs.enqueue(waiting);

      for (const { id } of [failing, running, ...waiting]) {
        const before = await jobs.getJob(id);

        assert.equal(await jobs.delete(id), false, before?.state);

        assertEqual(await jobs.getJob(id), before);
      }
    });

    fact('answers false for an unknown one', async ({ jobs, clock }) => {
      assert.equal(await jobs.delete(anId(clock)), false);
    });
  });
}
