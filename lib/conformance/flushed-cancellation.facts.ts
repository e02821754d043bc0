import assert from 'node:assert/strict';
import { later, MINUTE } from '../model/time';
import type { Advance, RunningStep } from '../model/workflow-instance';
import { claimBy, failed, putBack, released, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, runningSteps, started, stateOf, statesOf, storedInstance, storedJob, take } from './steps';
import type { FactSuite } from './world';
import { aBookmark, aStep, cancelling, changeOf, changing } from './workflow-builders';

/** A cancellation takes its place among the transitions of one call: those before it have happened, those after it have not. */
export function flushedCancellationFacts({ describe, fact }: FactSuite): void {
  describe('a cancellation among the transitions of one call', () => {
    fact('is told of jobs that an earlier step of the same call wanted to store', async (world) => {
      const { jobs, clock } = world;
      const instance = await started(world, {}, (made) => ({
        jobs: [0, 1].map(() => aStep(clock, made, { scope: 'par1.0/' })),
      }));
      const [adds, cancels] = await take(jobs, claimBy('w1'));
      assert.ok(adds && cancels);
      const unborn = aStep(clock, instance, { scope: 'par1.0/' });
      const told = new Outcome();

      await applied(
        jobs,
        succeeded(adds, { advance: changing({ enqueue: [unborn] }) }),
        succeeded(cancels, { advance: told.of('par1.0/') }),
      );

      assertEqual(told.cancelled, [unborn.id]);
      assert.equal(await stateOf(world, unborn), null);
    });

    fact(
      'counts a step that ends later in the same call as still running, and no step that ended before',
      async (world) => {
        const { jobs, clock } = world;
        const instance = await started(world, {}, (made) => ({
          jobs: [0, 1, 2].map(() => aStep(clock, made, { scope: 'par1.0/' })),
        }));
        const [before, decides, after] = await take(jobs, claimBy('w1'));
        assert.ok(before && decides && after);
        const told = new Outcome();

        const moveNothing = { advance: () => null };
        await applied(
          jobs,
          succeeded(before, moveNothing),
          succeeded(decides, { advance: told.of('par1.0/') }),
          succeeded(after, moveNothing),
        );

        assertEqual(told.stillRunning, [after.id]);
        assertEqual(
          await statesOf(
            world,
            [before, decides, after].map(({ id }) => id),
          ),
          ['Succeeded', 'Succeeded', 'Succeeded'],
        );
        assert.equal((await storedInstance(world, instance.id)).revision > 1, true);
      },
    );

    fact('takes effect on a step that fails later in the same call', async (world) => {
      const { jobs, clock } = world;
      await started(world, {}, (made) => ({ jobs: [0, 1].map(() => aStep(clock, made, { scope: 'saga1/' })) }));
      const [decides, fails] = await take(jobs, claimBy('w1'));
      assert.ok(decides && fails);

      await applied(
        jobs,
        succeeded(decides, { advance: cancelling(['saga1/'], 'finish') }),
        failed(fails, later(clock.now(), MINUTE)),
      );

      assert.equal(await stateOf(world, fails), 'Dead');
    });

    fact('is known to a step that is put back later in the same call', async (world) => {
      const { jobs, clock } = world;
      for (const running of ['finish', 'abort'] as const) {
        const { steps } = await runningSteps(world, 2, { scope: 'saga1/' });
        const [decides, returns] = steps;
        assert.ok(decides && returns);

        await applied(
          jobs,
          succeeded(decides, { advance: cancelling(['saga1/'], running) }),
          putBack(returns, later(clock.now(), MINUTE)),
        );

        const { state, closing, cancelRequested } = await storedJob(world, returns.id);
        assertEqual([state, closing, cancelRequested], ['Scheduled', running === 'finish', running === 'abort']);
      }
    });

    fact('counts a step as waiting that went back earlier in the same call, and ends it', async (world) => {
      const { jobs, clock } = world;
      const { steps } = await runningSteps(world, 4, { scope: 'saga1/' });
      const [fails, leaves, returns, decides] = steps;
      assert.ok(fails && leaves && returns && decides);
      const told = new Outcome();
      const dueAt = later(clock.now(), MINUTE);

      await applied(
        jobs,
        failed(fails, dueAt),
        released(leaves),
        putBack(returns, dueAt),
        succeeded(decides, { advance: told.of('saga1/') }),
      );

      assertEqual([told.cancelled, told.stillRunning], [[fails.id, leaves.id, returns.id], []]);
      for (const { id } of [fails, leaves, returns]) {
        const { state, dueAt: due, finishedAt } = await storedJob(world, id);
        assertEqual([state, due, finishedAt], ['Cancelled', null, clock.now()]);
      }
      assertEqual(await jobs.claim(claimBy('w2')), []);
    });

    fact('counts a step as running whose own end was rejected earlier in the same call', async (world) => {
      const { steps } = await runningSteps(world, 2, { scope: 'saga1/' });
      const [stays, decides] = steps;
      assert.ok(stays && decides);
      const told = new Outcome();

      const results = await world.jobs.apply([
        succeeded(stays, {
          advance: () => {
            throw new Error('no such node');
          },
        }),
        succeeded(decides, { advance: told.of('saga1/') }),
      ]);

      assertEqual(
        results.map(({ outcome }) => outcome),
        ['rejected', 'applied'],
      );
      assertEqual(told.stillRunning, [stays.id]);
      const { state, closing } = await storedJob(world, stays.id);
      assertEqual([state, closing], ['Processing', true]);
    });

    fact(
      'takes effect on what an earlier transition of the same call wanted to add, before it is stored',
      async (world) => {
        const { jobs, workflows, clock } = world;
        const instance = await started(world, {}, (made) => ({ jobs: [aStep(clock, made), aStep(clock, made)] }));
        const [first, second] = await take(jobs, claimBy('w1'));
        assert.ok(first && second);
        const [fallen, kept] = [
          aStep(clock, instance, { scope: 'each1.1/a/' }),
          aStep(clock, instance, { scope: 'each1.10/' }),
        ];
        const bookmark = aBookmark(clock, instance, { scope: 'each1.1/' });

        await applied(
          jobs,
          succeeded(first, { advance: changing({ enqueue: [fallen, kept], addBookmarks: [bookmark] }) }),
          succeeded(second, {
            advance: changing({
              cancel: { scopes: ['each1.1/'], running: 'abort' },
              removeBookmarks: { scopes: ['each1.1/'] },
            }),
          }),
        );

        assertEqual(await statesOf(world, [fallen.id, kept.id]), [null, 'Enqueued']);
        assertEqual(await workflows.getBookmarks(instance.id), []);
      },
    );
  });
}

/** Remembers what an advance was told of its cancellation. */
class Outcome {
  stillRunning: readonly string[] | null = null;
  cancelled: readonly string[] | null = null;

  /** Ends this scope and lets finish what runs in it. */
  of(scope: string): Advance {
    return (instance, event) => {
      if (event.kind === 'called') return changeOf(instance, { cancel: { scopes: [scope], running: 'finish' } });
      this.stillRunning = event.stillRunning.map(idOf);
      this.cancelled = event.cancelled.map(idOf);
      return null;
    };
  }
}

function idOf({ id }: RunningStep): string {
  return id;
}
