import assert from 'node:assert/strict';
import { later, MINUTE } from '../model/time';
import type { AdvanceEvent } from '../model/workflow-instance';
import { claimBy, failed } from './builders';
import { assertEqual, assertSameJson } from './expectations';
import { applied, runningStep, started, storedInstance, take } from './steps';
import type { FactSuite } from './world';
import { aStep, changeOf, changing } from './workflow-builders';

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

      assertEqual(events.at(-1), { kind: 'cancelled', scopes: ['par1.0/'], stillRunning: [], cancelled: [] });
    });

    fact('is told of the jobs that it has kept from running, whatever they waited for', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world, { scope: 'par1.0/' });
      await applied(jobs, failed(step, later(clock.now(), MINUTE)));
      const enqueued = aStep(clock, instance, { scope: 'par1.0/each1.3/', position: '{"node":"a4","path":[]}' });
      const scheduled = aStep(clock, instance, { scope: 'par1.0/', state: 'Scheduled', dueAt: later(clock.now(), 1) });
      const outside = aStep(clock, instance, { scope: 'par1.1/' });
      await jobs.enqueue([enqueued, scheduled, outside]);
      const events: AdvanceEvent[] = [];

      await workflows.advanceInstance(instance.id, (current, event) => {
        events.push(event);
        return event.kind === 'called'
          ? changeOf(current, { cancel: { scopes: ['par1.0/'], running: 'finish' } })
          : null;
      });

      const last = events.at(-1);
      assert.ok(last?.kind === 'cancelled');
      assertEqual(
        last.cancelled.map(({ id }) => id),
        [step.id, enqueued.id, scheduled.id].toSorted(),
      );
      const told = last.cancelled.find(({ id }) => id === enqueued.id);
      assert.equal(told?.scope, 'par1.0/each1.3/');
      assertSameJson(told?.position ?? null, '{"node":"a4","path":[]}');
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

    fact('is one writing of the instance, however often the function is asked', async (world) => {
      const instance = await started(world);
      const seen: number[] = [];

      await world.workflows.advanceInstance(instance.id, (current, event) => {
        seen.push(current.revision);
        const cancel = event.kind === 'called' ? ({ scopes: ['par1.0/'], running: 'finish' } as const) : null;
        return changeOf(current, { cancel });
      });

      assertEqual(seen, [1, 2]);
      assert.equal((await storedInstance(world, instance.id)).revision, 2);
    });
  });
}
