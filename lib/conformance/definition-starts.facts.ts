import assert from 'node:assert/strict';
import type { TransactionHandle } from '../storage/transaction-handle';
import type { NewInstance } from '../storage/workflow-storage';
import { joining } from './caller-transaction.facts';
import { assertEqual, assertSameInstance, codeOf, rejectsWith } from './expectations';
import { inRounds, pause, started, stateOf } from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, anInstance, aStep, aWorkflowDefinition } from './workflow-builders';

const EDITED = { shapeHash: 'edited' } as const;
const IMPATIENT = { lockTimeout: 200 } as const;

const startRefused = ({ workflows, clock }: World, handle: TransactionHandle): Promise<unknown> =>
  workflows.createInstance(alone(anInstance(clock)), handle);

/** An instance starts in the shape that its version is registered with, and the two have one order. */
export function definitionStartFacts(suite: FactSuite): void {
  const { describe, fact } = suite;
  describe('starting an instance of a registered version', () => {
    fact('is nobody’s business where that version was never registered', async ({ workflows, clock }) => {
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      const instance = anInstance(clock, { definitionVersion: 2, shapeHash: 'other' });

      assert.equal(await workflows.createInstance(alone(instance)), instance.id);
    });

    fact('succeeds in its shape', async (world) => {
      await world.workflows.registerDefinition(aWorkflowDefinition(world.clock), false);
      const instance = await started(world, { startKey: 'order-1' });

      assertSameInstance(await world.workflows.getInstance(instance.id), instance);
    });

    fact('is refused in another shape, and nothing is stored', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      for (const startKey of [null, 'order-1']) {
        const instance = anInstance(clock, { ...EDITED, startKey });
        const [job, bookmark] = [aStep(clock, instance), aBookmark(clock, instance)];

        const error = await rejectsWith(
          'MILLRACE_DEFINITION_CHANGED',
          workflows.createInstance({ instance, jobs: [job], bookmarks: [bookmark] }),
        );

        assert.match(error.message, /onboarding@1/);
        assert.equal(await workflows.getInstance(instance.id), null);
        assert.equal(await stateOf(world, job), null);
        assertEqual(await workflows.getBookmarks(instance.id), []);
      }
      await started(world, { startKey: 'order-1' });
    });

    fact('goes by the shape that has replaced another', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      await started(world);
      await workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), true);

      await rejectsWith('MILLRACE_DEFINITION_CHANGED', workflows.createInstance(alone(anInstance(clock))));
      await started(world, EDITED);
    });

    fact('under a key that is held answers the holder, whatever the shape', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      const holder = await started(world, { startKey: 'order-1' });
      const instance = anInstance(clock, { ...EDITED, startKey: 'order-1' });

      assert.equal(await workflows.createInstance(alone(instance)), holder.id);
    });

    fact('while its shape is replaced is refused, or the replacement is', async (world) => {
      const nodes = await world.nodes();

      await inRounds(20, async (round) => {
        const id = `workflow ${round}`;
        await nodes[0].workflows.registerDefinition(aWorkflowDefinition(world.clock, { id }), false);
        const instance = anInstance(world.clock, { definitionId: id });

        const [start, registration] = await Promise.all([
          nodes[round % 2 === 0 ? 0 : 1].workflows.createInstance(alone(instance)).then(() => 'started', codeOf),
          nodes[1].workflows.registerDefinition(aWorkflowDefinition(world.clock, { id, ...EDITED }), false),
        ]);

        const order = [start, registration.outcome].join();
        assert.ok(['started,refused', 'MILLRACE_DEFINITION_CHANGED,replaced'].includes(order), order);
        const stored = await world.workflows.getDefinition(id, 1);
        assert.equal(stored?.shapeHash, registration.outcome === 'replaced' ? 'edited' : 'shape');
      });
    });
  });

  describe('starting an instance in the caller’s transaction (or its refusal by a store that joins none)', () => {
    for (const end of ['commit', 'rollback'] as const) {
      joining(suite, `lets a replacement wait for its ${end}`, startRefused, async (world, transactions) => {
        const { workflows, clock } = world;
        await workflows.registerDefinition(aWorkflowDefinition(clock), false);
        const transaction = await transactions.begin();
        await workflows.createInstance(alone(anInstance(clock)), transaction.handle);

        const replacing = workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), false);
        await pause(50);
        await transaction[end]();

        assert.equal((await replacing).outcome, end === 'commit' ? 'refused' : 'replaced');
      });
    }

    joining(suite, 'lets a replacement wait that is accepted, too', startRefused, async (world, transactions) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      const impatient = await world.another(IMPATIENT);
      const transaction = await transactions.begin();
      await workflows.createInstance(alone(anInstance(clock)), transaction.handle);

      const error = await rejectsWith(
        'MILLRACE_LOCK_TIMEOUT',
        impatient.workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), true),
      );
      assert.match(error.message, /workflow definition onboarding@1/);
      assert.equal((await workflows.getDefinition('onboarding', 1))?.shapeHash, 'shape');
      await transaction.commit();

      const replaced = await workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), true);
      assertEqual(replaced, { outcome: 'replaced' });
    });

    joining(
      suite,
      'keeps nobody from registering what is registered already',
      startRefused,
      async (world, transactions) => {
        const { workflows, clock } = world;
        await workflows.registerDefinition(aWorkflowDefinition(clock), false);
        const transaction = await transactions.begin();
        await workflows.createInstance(alone(anInstance(clock)), transaction.handle);

        const answer = await workflows.registerDefinition(aWorkflowDefinition(clock), false);
        await transaction.rollback();

        assertEqual(answer, { outcome: 'unchanged' });
      },
    );

    joining(suite, 'leaves that usable where the shape is another', startRefused, async (world, transactions) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      const [before, refused, after] = [anInstance(clock), anInstance(clock, EDITED), anInstance(clock)];
      const transaction = await transactions.begin();

      await workflows.createInstance(alone(before), transaction.handle);
      await rejectsWith('MILLRACE_DEFINITION_CHANGED', workflows.createInstance(alone(refused), transaction.handle));
      await workflows.createInstance(alone(after), transaction.handle);
      await transaction.commit();

      const stored = await workflows.getInstances([before.id, refused.id, after.id]);
      assertEqual(stored.map(({ id }) => id).toSorted(), [before.id, after.id].toSorted());
    });
  });
}

function alone(instance: NewInstance['instance']): NewInstance {
  return { instance, jobs: [], bookmarks: [] };
}
