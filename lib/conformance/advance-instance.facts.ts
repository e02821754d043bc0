import assert from 'node:assert/strict';
import { MINUTE } from '../model/time';
import type { Advance, WorkflowInstance } from '../model/workflow-instance';
import { anId } from './builders';
import { assertEqual, assertSameInstance, assertSameJson, rejectionOf, rejectsWith } from './expectations';
import { inParallel, started, stateOf, storedInstance } from './steps';
import type { FactSuite } from './world';
import { aBookmark, aStep, changeOf, changing, setting } from './workflow-builders';

/** An instance moves on under its own lock, from where it is now, and no move is lost. */
export function advanceInstanceFacts({ describe, fact }: FactSuite): void {
  describe('advancing an instance', () => {
    fact('writes what the function returns, once more than before', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, { data: '{"step":0}', startKey: 'K', tenantId: 'acme' });
      clock.advance(MINUTE);
      const update = { data: '{"step":1}', dataTypes: '{"step":"bigint"}', cursor: '{"open":["a2"]}' };

      assert.equal(await workflows.advanceInstance(instance.id, changing({ update })), true);

      const expected = { ...instance, ...update, revision: 2, updatedAt: clock.now() };
      assertSameInstance(await workflows.getInstance(instance.id), expected);
    });

    fact('gives the function the instance as it is now', async (world) => {
      const { workflows } = world;
      const { id } = await started(world, { data: '{"step":0}' });
      await workflows.advanceInstance(id, setting('step', 1));
      let seen: WorkflowInstance | null = null;

      await workflows.advanceInstance(id, (instance) => {
        seen = instance;
        return null;
      });

      assertSameInstance(seen, await storedInstance(world, id));
    });

    fact('moves nothing when the function answers null', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world);
      clock.advance(MINUTE);

      assert.equal(await workflows.advanceInstance(instance.id, () => null), false);

      assertSameInstance(await workflows.getInstance(instance.id), instance);
    });

    fact('answers false for an unknown instance, without asking the function', async ({ workflows, clock }) => {
      let called = false;
      const advance: Advance = (instance) => {
        called = true;
        return changeOf(instance);
      };

      assert.equal(await workflows.advanceInstance(anId(clock), advance), false);
      assert.equal(called, false);
    });

    fact('fails with what the function throws, and writes nothing', async (world) => {
      const instance = await started(world);
      const thrown = new Error('no such node');

      const error = await rejectionOf(
        world.workflows.advanceInstance(instance.id, () => {
          throw thrown;
        }),
      );

      assert.equal(error, thrown);
      assertSameInstance(await world.workflows.getInstance(instance.id), instance);
    });

    fact('by eight nodes at once loses none', async (world) => {
      const nodes = await world.nodes();
      const { id } = await started(world);

      const answers = await inParallel(8, (n) =>
        nodes[n % 2 === 0 ? 0 : 1].workflows.advanceInstance(id, setting(`n${n}`, n)),
      );

      assertEqual(answers, Array<boolean>(8).fill(true));
      const { data, revision } = await storedInstance(world, id);
      assert.equal(revision, 9);
      assertSameJson(data, '{"n0":0,"n1":1,"n2":2,"n3":3,"n4":4,"n5":5,"n6":6,"n7":7}');
    });

    fact('stores the jobs and waits that it adds, all or none with it', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world);
      const [job, bookmark] = [aStep(clock, instance), aBookmark(clock, instance)];

      await workflows.advanceInstance(instance.id, changing({ enqueue: [job], addBookmarks: [bookmark] }));

      assert.equal(await stateOf(world, job), 'Enqueued');
      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [bookmark.id],
      );

      const [good, again, late] = [aStep(clock, instance), job, aBookmark(clock, instance)];
      await rejectsWith(
        'MILLRACE_DUPLICATE_JOB',
        workflows.advanceInstance(instance.id, setting('step', 2, { enqueue: [good, again], addBookmarks: [late] })),
      );

      assert.equal(await stateOf(world, good), null);
      assert.equal((await workflows.getBookmarks(instance.id)).length, 1);
      assert.equal((await storedInstance(world, instance.id)).revision, 2);
    });
  });
}
