import assert from 'node:assert/strict';
import type { JobRecord } from '../model/job';
import { later, MINUTE } from '../model/time';
import type { WorkflowInstance } from '../model/workflow-instance';
import { aJob, claimBy, failed, succeeded } from './builders';
import { assertEqual } from './expectations';
import {
  applied,
  applyOne,
  runningStep,
  started,
  stateOf,
  statesOf,
  storedInstance,
  storedJob,
  takeOne,
} from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, aSignal, aStep, cancelling, changing } from './workflow-builders';

/** An instance ends parts of itself by their scope path. */
export function scopeFacts({ describe, fact }: FactSuite): void {
  describe('cancelling a scope', () => {
    fact('ends what is Enqueued, Scheduled or Failed in it, now', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world, { scope: 'par1.0/' });
      await applied(jobs, failed(step, later(clock.now(), MINUTE)));
      const enqueued = aStep(clock, instance, { scope: 'par1.0/' });
      const scheduled = aStep(clock, instance, {
        scope: 'par1.0/',
        state: 'Scheduled',
        dueAt: later(clock.now(), MINUTE),
      });
      await jobs.enqueue([enqueued, scheduled]);
      clock.advance(1);

      await workflows.advanceInstance(instance.id, cancelling(['par1.0/']));

      for (const { id } of [step, enqueued, scheduled]) {
        const { state, finishedAt, dueAt } = await storedJob(world, id);
        assertEqual([state, finishedAt, dueAt], ['Cancelled', clock.now(), null]);
      }
    });

    fact('means everything at or below its path, and no path that only begins alike', async (world) => {
      const hit = ['each1.1/', 'each1.1/par1.0/', 'each1.1/each2.10/'];
      const missed = ['', 'each1.10/', 'each1.10/par1.0/', 'each1.0/', 'each11.1/', 'par2.0/each1.1/', 'EACH1.1/'];

      await expectHits(world, ['each1.1/'], hit, missed);
    });

    fact('takes a path at its word: no character of it is a pattern', async (world) => {
      await expectHits(
        world,
        ['a_1%.0/', 'b[x]\\.1/'],
        ['a_1%.0/', 'a_1%.0/par1.0/', 'b[x]\\.1/', 'b[x]\\.1/c/'],
        ['ab1%.0/', 'a_1xx.0/', 'a_1.0/', 'A_1%.0/', 'bx.1/', 'b[x].1/', 'b[x]\\x1/'],
      );
    });

    fact('may name several paths, one below the other too', async (world) => {
      await expectHits(
        world,
        ['par1.0/', 'par1.0/each1.0/', 'par1.2/'],
        ['par1.0/', 'par1.0/each1.0/', 'par1.2/', 'par1.2/saga1/'],
        ['', 'par1.1/'],
      );
    });

    fact('of the root means the whole instance', async (world) => {
      await expectHits(world, [''], ['', 'par1.0/', 'each1.3/par1.0/'], []);
    });

    fact('leaves other instances and plain jobs alone', async (world) => {
      const { jobs, workflows, clock } = world;
      const [mine, theirs] = [await started(world), await started(world)];
      const [own, other, plain] = [aStep(clock, mine), aStep(clock, theirs), aJob(clock)];
      await jobs.enqueue([own, other, plain]);

      await workflows.advanceInstance(mine.id, cancelling(['']));

      assertEqual(await statesOf(world, [own.id, other.id, plain.id]), ['Cancelled', 'Enqueued', 'Enqueued']);
    });

    fact('leaves alone what has ended', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world);
      await applied(jobs, succeeded(step));
      const before = await storedJob(world, step.id);

      await workflows.advanceInstance(instance.id, cancelling(['']));

      assertEqual(await storedJob(world, step.id), before);
    });

    fact('leaves alone the jobs that the same change adds', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, {}, (made) => ({ jobs: [aStep(clock, made, { scope: 'saga1/' })] }));
      const undo = aStep(clock, instance, { scope: 'saga1/' });

      await workflows.advanceInstance(
        instance.id,
        changing({ enqueue: [undo], cancel: { scopes: ['saga1/'], running: 'finish' } }),
      );

      assert.equal(await stateOf(world, undo), 'Enqueued');
      assert.equal((await takeOne(world.jobs, claimBy('w1'))).id, undo.id);
    });

    fact('with abort asks what runs in it to stop', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world, { scope: 'par1.0/' });

      await workflows.advanceInstance(instance.id, cancelling(['par1.0/'], 'abort'));

      const { state, cancelRequested, closing } = await storedJob(world, step.id);
      assertEqual([state, cancelRequested, closing], ['Processing', true, false]);
      assertEqual((await jobs.renew('w1', [step], MINUTE)).answers, ['cancelRequested']);
    });

    fact('with finish lets what runs in it run, and tells its worker nothing', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world, { scope: 'par1.0/' });

      await workflows.advanceInstance(instance.id, cancelling(['par1.0/'], 'finish'));

      const { state, cancelRequested, closing } = await storedJob(world, step.id);
      assertEqual([state, cancelRequested, closing], ['Processing', false, true]);
      assertEqual((await jobs.renew('w1', [step], MINUTE)).answers, ['renewed']);
    });

    fact('does not touch the step whose transition decides it', async (world) => {
      const { instance, step } = await runningStep(world, { scope: 'saga1/' });
      const other = aStep(world.clock, instance, { scope: 'saga1/' });
      await world.jobs.enqueue([other]);

      await applied(world.jobs, succeeded(step, { advance: cancelling(['saga1/']) }));

      assertEqual(await statesOf(world, [step.id, other.id]), ['Succeeded', 'Cancelled']);
      assert.equal((await storedJob(world, step.id)).cancelRequested, false);
    });
  });

  describe('cancelling an instance as a whole', () => {
    fact('ends its pending steps and waits, and asks the running ones to stop, in one transaction', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world, { scope: 'par1.0/' });
      const pending = aStep(clock, instance, { scope: 'par1.1/' });
      await jobs.enqueue([pending]);
      await workflows.advanceInstance(
        instance.id,
        changing({
          addBookmarks: [
            aBookmark(clock, instance),
            aBookmark(clock, instance, { scope: 'each1.2/', expiresAt: clock.now() }),
          ],
        }),
      );

      await workflows.advanceInstance(
        instance.id,
        changing({
          update: { state: 'Cancelled' },
          removeBookmarks: { scopes: [''] },
          cancel: { scopes: [''], running: 'abort' },
        }),
      );

      assertEqual(await statesOf(world, [step.id, pending.id]), ['Processing', 'Cancelled']);
      assert.equal((await storedJob(world, step.id)).cancelRequested, true);
      assertEqual(await workflows.getBookmarks(instance.id), []);
      assert.equal(await workflows.signal(aSignal(clock)), false);
      assert.equal(await workflows.expireBookmarks(10, () => aJob(clock)), 0);
      assert.equal((await storedInstance(world, instance.id)).state, 'Cancelled');
      assert.equal((await applyOne(jobs, succeeded(step, { advance: () => null }))).outcome, 'applied');
    });
  });
}

/** Stores a step in each of these scopes, cancels `scopes`, and expects exactly those of `hit` to be cancelled. */
async function expectHits(
  world: World,
  scopes: readonly string[],
  hit: readonly string[],
  missed: readonly string[],
): Promise<void> {
  const { jobs, workflows, clock } = world;
  const steps = new Map<string, JobRecord>();
  const instance: WorkflowInstance = await started(world, {}, (made) => {
    for (const scope of [...hit, ...missed]) steps.set(scope, aStep(clock, made, { scope }));
    return { jobs: [...steps.values()] };
  });

  await workflows.advanceInstance(instance.id, cancelling(scopes));

  const cancelled: string[] = [];
  for (const [scope, { id }] of steps) if ((await jobs.getJob(id))?.state === 'Cancelled') cancelled.push(scope);
  assertEqual(cancelled, hit);
}
