import assert from 'node:assert/strict';
import { MINUTE } from '../model/time';
import type { InstanceState } from '../model/workflow-instance';
import { assertEqual, assertSameJson } from './expectations';
import { inParallel, inRounds, started } from './steps';
import type { FactSuite } from './world';
import { aWorkflowDefinition, changing } from './workflow-builders';

const ENDS: readonly InstanceState[] = ['Completed', 'Failed', 'Compensated', 'Cancelled'];
const EDITED = { shapeHash: 'edited' } as const;

/** Each version of a workflow has one shape, and none is replaced under live instances without anybody's consent. */
export function definitionFacts({ describe, fact }: FactSuite): void {
  describe('workflow definitions', () => {
    fact('come back as they were registered, each version by itself', async ({ workflows, clock }) => {
      const shapeHash = 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9';
      const [one, two] = [aWorkflowDefinition(clock), aWorkflowDefinition(clock, { version: 2, shapeHash })];

      assertEqual(await workflows.registerDefinition(one, false), { outcome: 'registered' });
      clock.advance(MINUTE);
      assertEqual(await workflows.registerDefinition(two, true), { outcome: 'registered' });

      assertEqual(await workflows.getDefinition('onboarding', 1), one);
      assertEqual(await workflows.getDefinition('onboarding', 2), two);
    });

    fact('are those of their exact id and version', async ({ workflows, clock }) => {
      await workflows.registerDefinition(aWorkflowDefinition(clock, { version: 11 }), false);

      const others: [string, number][] = [
        ['onboarding', 1],
        ['onboarding', 2],
        ['Onboarding', 11],
        ['onboarding ', 11],
        ['onboarding@1', 1],
      ];
      for (const [id, version] of others) assert.equal(await workflows.getDefinition(id, version), null, id);
    });

    fact('keep a graph of any length, in any script', async ({ workflows, clock }) => {
      const condition = '(d) => d.größe > 1 && d.name !== "雪" // \u{1f409}\n';
      const graph = JSON.stringify({ conditions: Array<string>(4000).fill(condition) });

      await workflows.registerDefinition(aWorkflowDefinition(clock, { id: 'größe 雪', graph }), false);

      assertSameJson((await workflows.getDefinition('größe 雪', 1))?.graph ?? null, graph);
    });

    fact('of the same shape keep the time of their registration, and take the newer graph', async (world) => {
      const { workflows, clock } = world;
      const first = aWorkflowDefinition(clock);
      await workflows.registerDefinition(first, false);
      await started(world);
      clock.advance(MINUTE);

      const same = await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      const renamed = await workflows.registerDefinition(
        aWorkflowDefinition(clock, { graph: '{"start":"a2"}' }),
        false,
      );

      assertEqual([same, renamed], [{ outcome: 'unchanged' }, { outcome: 'unchanged' }]);
      assertEqual(await workflows.getDefinition('onboarding', 1), { ...first, graph: '{"start":"a2"}' });
    });

    fact('are refused in another shape while instances are live, and stay as they were', async (world) => {
      const { workflows, clock } = world;
      const first = aWorkflowDefinition(clock);
      await workflows.registerDefinition(first, false);
      await started(world, { tenantId: 'acme' });
      await started(world, { state: 'Suspended' });

      const answer = await workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), false);

      assertEqual(answer, { outcome: 'refused', storedShapeHash: 'shape', liveInstances: 2 });
      assertEqual(await workflows.getDefinition('onboarding', 1), first);
    });

    fact('are replaced by another shape where that is accepted', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      await started(world);
      clock.advance(MINUTE);
      const edited = aWorkflowDefinition(clock, { ...EDITED, graph: '{"start":"a2"}' });

      assertEqual(await workflows.registerDefinition(edited, true), { outcome: 'replaced' });

      assertEqual(await workflows.getDefinition('onboarding', 1), edited);
    });

    fact('are replaced where all instances of that version have ended, whatever others do', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      for (const state of ENDS) {
        const { id } = await started(world);
        await workflows.advanceInstance(id, changing({ update: { state } }));
      }
      await started(world, { definitionVersion: 2 });
      await started(world, { definitionId: 'offboarding' });
      await started(world, { definitionId: 'ONBOARDING' });

      const answer = await workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), false);

      assertEqual(answer, { outcome: 'replaced' });
    });

    fact('go back to a shape that all live instances stand in', async (world) => {
      const { workflows, clock } = world;
      await workflows.registerDefinition(aWorkflowDefinition(clock), false);
      await started(world);
      await workflows.registerDefinition(aWorkflowDefinition(clock, EDITED), true);

      assertEqual(await workflows.registerDefinition(aWorkflowDefinition(clock), false), { outcome: 'replaced' });
    });

    fact('are registered once by ten nodes at once', async (world) => {
      const nodes = await world.nodes();

      await inRounds(5, async (round) => {
        const definition = aWorkflowDefinition(world.clock, { id: `workflow ${round}` });
        const answers = await inParallel(10, (n) =>
          nodes[n % 2 === 0 ? 0 : 1].workflows.registerDefinition(definition, false),
        );

        assertEqual(answers.map(({ outcome }) => outcome).toSorted(), [
          'registered',
          ...Array<string>(9).fill('unchanged'),
        ]);
      });
    });

    fact('of ten shapes at once are replaced one after the other', async (world) => {
      const nodes = await world.nodes();

      await inRounds(5, async (round) => {
        const id = `workflow ${round}`;
        const answers = await inParallel(10, (n) =>
          nodes[n % 2 === 0 ? 0 : 1].workflows.registerDefinition(
            aWorkflowDefinition(world.clock, { id, shapeHash: `shape ${n}`, graph: `{"of":${n}}` }),
            false,
          ),
        );

        assertEqual(answers.map(({ outcome }) => outcome).toSorted(), [
          'registered',
          ...Array<string>(9).fill('replaced'),
        ]);
        const last = await world.workflows.getDefinition(id, 1);
        assert.equal(last?.shapeHash.slice('shape '.length), /\d/.exec(last?.graph ?? '')?.[0]);
      });
    });
  });
}
