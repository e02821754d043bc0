import assert from 'node:assert/strict';
import { later, MINUTE } from '../model/time';
import type { Advance, AdvanceEvent } from '../model/workflow-instance';
import { claimBy, failed, succeeded } from './builders';
import { assertEqual, assertSameJson } from './expectations';
import { applied, runningStep, started, stateOf, statesOf, storedInstance, take } from './steps';
import type { FactSuite } from './world';
import { aBookmark, aStep, cancelling, changeOf, changing } from './workflow-builders';

/** Who cancels a scope is told what still runs in it, in time to wait for that. */
export function cancellationOutcomeFacts({ describe, fact }: FactSuite): void {
  describe('the outcome of a cancellation', () => {
    fact('is told to the function in the same transaction, with what still runs', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world, {
        scope: 'par1.0/each1.2/',
        position: '{"node":"a7","path":[]}',
      });
      await jobs.enqueue([aStep(clock, instance, { scope: 'par1.0/' }), aStep(clock, instance, { scope: 'par1.1/' })]);
      const elsewhere = await take(jobs, claimBy('w1', { limit: 10 }));
      assert.equal(elsewhere.length, 2); // both run too now
      const events: AdvanceEvent[] = [];

      await workflows.advanceInstance(instance.id, (current, event) => {
        events.push(event);
        if (event.kind === 'called') {
          return changeOf(current, {
            update: { data: '{"by":"first"}' },
            cancel: { scopes: ['par1.0/'], running: 'finish' },
          });
        }
        assertSameJson(current.data, '{"by":"first"}');
        return changeOf(current, { update: { data: '{"by":"second"}' } });
      });

      const last = events.at(-1);
      assert.ok(last?.kind === 'cancelled', `${events.length} events, the last one ${String(last?.kind)}`);
      assertEqual(last.scopes, ['par1.0/']);
      const inScope = [step, ...elsewhere.filter(({ scope }) => scope === 'par1.0/')].map(({ id }) => id);
      assertEqual(last.stillRunning.map(({ id }) => id).toSorted(), inScope.toSorted());
      const told = last.stillRunning.find(({ id }) => id === step.id);
      assert.equal(told?.scope, 'par1.0/each1.2/');
      assertSameJson(told?.position ?? null, '{"node":"a7","path":[]}');
      assertSameJson((await storedInstance(world, instance.id)).data, '{"by":"second"}');
    });

    fact('is told when nothing runs any more', async (world) => {
      const instance = await started(world);
      const events: AdvanceEvent[] = [];

      await world.workflows.advanceInstance(instance.id, (current, event) => {
        events.push(event);
        return event.kind === 'called'
          ? changeOf(current, { cancel: { scopes: ['par1.0/'], running: 'abort' } })
          : null;
      });

      assertEqual(events.at(-1), { kind: 'cancelled', scopes: ['par1.0/'], stillRunning: [] });
    });

    fact('does not undo the cancellation when the function then answers null', async (world) => {
      const { clock } = world;
      const instance = await started(world, {}, (made) => ({ jobs: [aStep(clock, made, { scope: 'par1.0/' })] }));

      const moved = await world.workflows.advanceInstance(
        instance.id,
        changing({ update: { data: '{"kept":true}' }, cancel: { scopes: ['par1.0/'], running: 'abort' } }),
      );

      assert.equal(moved, true);
      assertSameJson((await storedInstance(world, instance.id)).data, '{"kept":true}');
      assertEqual(await world.jobs.claim(claimBy('w1')), []);
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
        const events: AdvanceEvent[] = [];
        const advance: Advance = (current, event) => {
          events.push(event);
          return event.kind === 'called'
            ? changeOf(current, { cancel: { scopes: ['par1.0/'], running: 'finish' } })
            : null;
        };

        const moveNothing = { advance: () => null };
        await applied(
          jobs,
          succeeded(before, moveNothing),
          succeeded(decides, { advance }),
          succeeded(after, moveNothing),
        );

        const last = events.at(-1);
        assert.ok(last?.kind === 'cancelled');
        assertEqual(
          last.stillRunning.map(({ id }) => id),
          [after.id],
        );
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
