import assert from 'node:assert/strict';
import type { Advance } from '../model/workflow-instance';
import { aJob, anId, claimBy, dead, succeeded } from './builders';
import { assertEqual, assertSameInstance, assertSameJson, codeOf } from './expectations';
import {
  applied,
  applyOne,
  detailsOf,
  inRounds,
  runningStep,
  runningSteps,
  settle,
  stateOf,
  statesOf,
  storedInstance,
  takeOne,
} from './steps';
import type { FactSuite } from './world';
import { aBookmark, aStep, changeOf, changing, documentOf, setting } from './workflow-builders';

/** Appends to the document how many came before it. */
const counting: Advance = (instance) => {
  const seen = (documentOf(instance)['seen'] ?? []) as number[];
  return changeOf(instance, { update: { data: JSON.stringify({ seen: [...seen, seen.length] }) } });
};

const throwing: Advance = () => {
  throw new Error('no such node');
};

/** Guarantee 7: an instance moves on in the transaction of the transition that moves it. */
export function advanceFacts({ describe, fact }: FactSuite): void {
  describe('a transition that advances its instance', () => {
    fact('commits job, instance, follow-ups and waits together', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world);
      const [brought, next, bookmark] = [aJob(clock), aStep(clock, instance), aBookmark(clock, instance)];

      await applied(
        jobs,
        succeeded(step, {
          enqueue: [brought],
          advance: setting('step', 1, { enqueue: [next], addBookmarks: [bookmark] }),
        }),
      );

      assertEqual(await statesOf(world, [step.id, brought.id, next.id]), ['Succeeded', 'Enqueued', 'Enqueued']);
      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [bookmark.id],
      );
      const { revision, data } = await storedInstance(world, instance.id);
      assert.equal(revision, 2);
      assertSameJson(data, '{"step":1}');
    });

    fact('is rejected whole when the function throws', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world);
      const [thrown, brought] = [new Error('no such node'), aJob(clock)];

      const result = await applyOne(
        jobs,
        dead(step, {
          enqueue: [brought],
          advance: () => {
            throw thrown;
          },
        }),
      );

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(result.error, thrown);
      assertEqual(await statesOf(world, [step.id, brought.id]), ['Processing', null]);
      assertEqual((await detailsOf(world, step.id)).attempts, []);
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('is rejected whole when what the function adds cannot be stored', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world);
      const stored = aStep(clock, instance, { queue: 'other' });
      await jobs.enqueue([stored]);
      const [good, bookmark] = [aStep(clock, instance), aBookmark(clock, instance)];

      const result = await applyOne(
        jobs,
        succeeded(step, { advance: changing({ enqueue: [good, stored], addBookmarks: [bookmark] }) }),
      );

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_DUPLICATE_JOB');
      assertEqual(await statesOf(world, [step.id, good.id]), ['Processing', null]);
      assertEqual(await workflows.getBookmarks(instance.id), []);
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('is rejected when the instance is unknown', async (world) => {
      const { jobs, clock } = world;
      const job = aJob(clock, { instanceId: anId(clock), position: '{"node":"a1","path":[]}', scope: '' });
      await jobs.enqueue([job]);
      const step = await takeOne(jobs, claimBy('w1'));
      let called = false;
      const advance: Advance = (instance) => {
        called = true;
        return changeOf(instance);
      };

      const result = await applyOne(jobs, succeeded(step, { advance }));

      assert.ok(result.outcome === 'rejected', `${result.outcome} instead of rejected`);
      assert.equal(codeOf(result.error), 'MILLRACE_INSTANCE_NOT_FOUND');
      assertEqual([called, await stateOf(world, step)], [false, 'Processing']);
    });

    fact('neither asks the function nor moves the instance when it is fenced', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world);
      let called = false;
      const advance: Advance = (current) => {
        called = true;
        return changeOf(current, { update: { data: '{"step":1}' } });
      };

      const result = await applyOne(jobs, succeeded({ ...step, attempt: step.attempt + 1 }, { advance }));

      assertEqual([result.outcome, called], ['fenced', false]);
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('leaves the instance alone when the function answers null, and applies', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world);

      await applied(jobs, succeeded(step, { advance: () => null }));

      assert.equal(await stateOf(world, step), 'Succeeded');
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('leaves the instance alone when there is no function, and applies', async (world) => {
      const { jobs, workflows } = world;
      const { instance, step } = await runningStep(world);

      await applied(jobs, succeeded(step));

      assert.equal(await stateOf(world, step), 'Succeeded');
      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('on two nodes at once loses neither branch', async (world) => {
      const nodes = await world.nodes();
      await inRounds(10, async () => {
        const { instance, steps } = await runningSteps(world, 2);

        const results = await Promise.all(
          steps.map((step, n) =>
            settle(nodes[n === 0 ? 0 : 1].jobs, succeeded(step, { advance: setting(`branch${n}`, n) })),
          ),
        );

        assertEqual(
          results.map(({ outcome }) => outcome),
          ['applied', 'applied'],
        );
        const { data, revision } = await storedInstance(world, instance.id);
        assertSameJson(data, '{"branch0":0,"branch1":1}');
        assert.equal(revision, 3);
      });
    });
  });

  describe('transitions of one instance in one call', () => {
    fact('see each other, in order', async (world) => {
      const { instance, steps } = await runningSteps(world, 5);
      await applied(world.jobs, ...steps.map((step) => succeeded(step, { advance: counting })));

      assertSameJson((await storedInstance(world, instance.id)).data, '{"seen":[0,1,2,3,4]}');
    });

    fact('do not see one that is rejected, and do not fall with it', async (world) => {
      const { instance, steps } = await runningSteps(world, 3);
      const [first, second, third] = steps;
      assert.ok(first && second && third);

      const results = await world.jobs.apply([
        succeeded(first, { advance: setting('first', true) }),
        succeeded(second, { advance: throwing }),
        succeeded(third, { advance: setting('third', true) }),
      ]);

      assertEqual(
        results.map(({ outcome }) => outcome),
        ['applied', 'rejected', 'applied'],
      );
      assertEqual(
        await statesOf(
          world,
          steps.map(({ id }) => id),
        ),
        ['Succeeded', 'Processing', 'Succeeded'],
      );
      assertSameJson((await storedInstance(world, instance.id)).data, '{"first":true,"third":true}');
    });

    fact('do not see one whose jobs cannot be stored, and do not fall with it', async (world) => {
      const { jobs, clock } = world;
      const { instance, steps } = await runningSteps(world, 3);
      const [first, second, third] = steps;
      assert.ok(first && second && third);
      const stored = aJob(clock, { queue: 'other' });
      await jobs.enqueue([stored]);

      const results = await jobs.apply([
        succeeded(first, { advance: setting('first', true) }),
        succeeded(second, { advance: setting('second', true, { enqueue: [stored] }) }),
        succeeded(third, { advance: setting('third', true) }),
      ]);

      assertEqual(
        results.map(({ outcome }) => outcome),
        ['applied', 'rejected', 'applied'],
      );
      assertSameJson((await storedInstance(world, instance.id)).data, '{"first":true,"third":true}');
    });

    fact('leave other instances of that call alone', async (world) => {
      const { jobs } = world;
      const [a, b] = [await runningStep(world), await runningStep(world)];

      await applied(
        jobs,
        succeeded(a.step, { advance: setting('name', 'a') }),
        succeeded(b.step, { advance: setting('name', 'b') }),
      );

      assertSameJson((await storedInstance(world, a.instance.id)).data, '{"name":"a"}');
      assertSameJson((await storedInstance(world, b.instance.id)).data, '{"name":"b"}');
    });
  });
}
