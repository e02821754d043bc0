import assert from 'node:assert/strict';
import type { InstanceQuery } from '../model/monitoring';
import { MINUTE, SECOND } from '../model/time';
import type { WorkflowInstance } from '../model/workflow-instance';
import { assertEqual } from './expectations';
import { idsOf, pagesOf, refusesUndecodableCursors } from './pages';
import { started } from './steps';
import type { FactSuite, World } from './world';
import { changing } from './workflow-builders';

/** The list of instances walks as the job list does. */
export function instanceListFacts({ describe, fact }: FactSuite): void {
  describe('the list of instances', () => {
    fact('is newest first', async (world) => {
      const four = await oneASecond(world, 4);

      assertEqual(await listOf(world), idsOf(four).toReversed());
    });

    fact('comes in pages that hold every row once, in order', async (world) => {
      const seven = await oneASecond(world, 7);

      const pages = await pagesOf((cursor) => world.monitoring.queryInstances({ limit: 3, cursor }));

      assertEqual(pages.flat(), idsOf(seven).toReversed());
      assert.equal(pages[0]?.length, 3);
    });

    fact('of an empty store is empty', async ({ monitoring }) => {
      assertEqual(await monitoring.queryInstances({}), { items: [], nextCursor: null });
    });

    fact('can be had of a definition, and of one version of it', async (world) => {
      const a1 = await started(world, { definitionId: 'alpha', definitionVersion: 1 });
      const a2 = await started(world, { definitionId: 'alpha', definitionVersion: 2 });
      await started(world, { definitionId: 'beta', definitionVersion: 2 });

      assertEqual(await listOf(world, { definitionId: 'alpha' }), [a2.id, a1.id]);
      assertEqual(await listOf(world, { definitionId: 'alpha', definitionVersion: 2 }), [a2.id]);
      assertEqual(await listOf(world, { definitionId: 'beta', definitionVersion: 1 }), []);
    });

    fact('takes no notice of a version without a definition', async (world) => {
      await started(world, { definitionVersion: 1 });

      assert.equal((await listOf(world, { definitionVersion: 9 })).length, 1);
    });

    fact('can be had of some states, and of any when none is named', async (world) => {
      const running = await started(world);
      const suspended = await started(world, { state: 'Suspended' });

      assertEqual(await listOf(world, { states: ['Suspended'] }), [suspended.id]);
      assertEqual(await listOf(world, { states: ['Suspended', 'Running'] }), [suspended.id, running.id]);
      assertEqual(await listOf(world, { states: [] }), [suspended.id, running.id]);
    });

    fact('can be had of one tenant, of none, and of all', async (world) => {
      const acme = await started(world, { tenantId: 'acme' });
      const none = await started(world);

      assertEqual(await listOf(world, { tenantId: 'acme' }), [acme.id]);
      assertEqual(await listOf(world, { tenantId: null }), [none.id]);
      assertEqual(await listOf(world), [none.id, acme.id]);
    });

    fact('can be had between two instants, the later one excluded', async (world) => {
      const [first, second, third] = await oneASecond(world, 4);
      assert.ok(first && second && third);

      const between = { createdAfter: first.createdAt, createdBefore: third.createdAt };

      assertEqual(await listOf(world, between), [second.id, first.id]);
    });

    fact('refuses a cursor that no page handed out', async (world) => {
      await oneASecond(world, 2);

      await refusesUndecodableCursors((cursor) => world.monitoring.queryInstances({ cursor }));
    });

    fact('shows of an instance what a list needs, and no document', async (world) => {
      const { workflows, monitoring, clock } = world;
      const instance = await started(world, { tenantId: 'acme', data: '{"secret":1}', definitionVersion: 3 });
      clock.advance(MINUTE);
      await workflows.advanceInstance(instance.id, changing({ update: { state: 'Suspended' } }));

      const { items } = await monitoring.queryInstances({});

      assertEqual(items, [
        {
          id: instance.id,
          definitionId: 'onboarding',
          definitionVersion: 3,
          state: 'Suspended',
          tenantId: 'acme',
          createdAt: instance.createdAt,
          updatedAt: clock.now(),
          revision: 2,
        },
      ]);
    });
  });
}

async function listOf({ monitoring }: World, query: InstanceQuery = {}): Promise<string[]> {
  return idsOf((await monitoring.queryInstances(query)).items);
}

/** Starts so many instances, a second apart, the oldest first. */
async function oneASecond(world: World, count: number): Promise<WorkflowInstance[]> {
  const all: WorkflowInstance[] = [];
  for (let n = 0; n < count; n++) {
    all.push(await started(world));
    world.clock.advance(SECOND);
  }
  return all;
}
