import assert from 'node:assert/strict';
import { MINUTE } from '../model/time';
import type { InstanceState } from '../model/workflow-instance';
import { aJob, anId, cutoffs } from './builders';
import { assertEqual, assertSameBookmark, assertSameInstance, codeOf, rejectsWith } from './expectations';
import { inParallel, inRounds, started, stateOf, statesOf, storedInstance } from './steps';
import type { FactSuite } from './world';
import { aBookmark, anInstance, aStep, changing } from './workflow-builders';

const ENDS: readonly InstanceState[] = ['Completed', 'Failed', 'Compensated', 'Cancelled'];

/** An instance comes into being with its first jobs and waits, and once per business key. */
export function instanceFacts({ describe, fact }: FactSuite): void {
  describe('instances', () => {
    fact('come back with every field as they were created', async ({ workflows, clock }) => {
      const instance = anInstance(clock, {
        definitionId: 'onboarding',
        definitionVersion: 3,
        state: 'Suspended',
        data: '{"customer":"c-1","lines":[1.5,null,{"a":"ü"}],"at":"2026-01-01T00:00:00.000Z"}',
        dataTypes: '{"at":"date"}',
        cursor: '{"frames":[{"scope":"each1.0/","remaining":3}]}',
        tenantId: 'acme',
        startKey: 'customer-1',
        shapeHash: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
        suspendedReason: 'step',
        failure: '{"node":"a1","error":"boom"}',
        lastDecisionId: anId(clock),
      });

      const id = await workflows.createInstance({ instance, jobs: [], bookmarks: [] });

      assert.equal(id, instance.id);
      assertSameInstance(await workflows.getInstance(id), instance);
    });

    fact('start at revision 1, whatever was passed', async ({ workflows, clock }) => {
      const instance = anInstance(clock, { revision: 42 });

      await workflows.createInstance({ instance, jobs: [], bookmarks: [] });

      assert.equal((await workflows.getInstance(instance.id))?.revision, 1);
    });

    fact('are unknown until they are created', async ({ workflows, clock }) => {
      assert.equal(await workflows.getInstance(anId(clock)), null);
    });

    fact('can be read several at once, unknown ones left out', async (world) => {
      const { workflows, clock } = world;
      const [a, b] = [await started(world, { data: '{"n":1}' }), await started(world, { data: '{"n":2}' })];
      await started(world);

      const found = await workflows.getInstances([b.id, anId(clock), a.id]);

      assertEqual(found.map(({ id }) => id).toSorted(), [a.id, b.id]);
      for (const instance of found) assertSameInstance(instance, await storedInstance(world, instance.id));
      assertEqual(await workflows.getInstances([]), []);
    });

    fact('exist together with their first jobs and waits', async (world) => {
      const { workflows, clock } = world;
      const instance = anInstance(clock);
      const jobs = [aStep(clock, instance), aStep(clock, instance, { state: 'Scheduled', dueAt: clock.now() })];
      const bookmark = aBookmark(clock, instance);

      await workflows.createInstance({ instance, jobs, bookmarks: [bookmark] });

      assertEqual(
        await statesOf(
          world,
          jobs.map(({ id }) => id),
        ),
        ['Enqueued', 'Scheduled'],
      );
      const bookmarks = await workflows.getBookmarks(instance.id);
      assert.equal(bookmarks.length, 1);
      assertSameBookmark(bookmarks[0], bookmark);
    });

    fact('do not exist without their first jobs', async (world) => {
      const { workflows, clock } = world;
      const taken = aJob(clock);
      await world.jobs.enqueue([taken]);
      const instance = anInstance(clock);
      const [good, bad] = [aStep(clock, instance), aStep(clock, instance, { id: taken.id })];
      const bookmarks = [aBookmark(clock, instance)];

      await rejectsWith('MILLRACE_DUPLICATE_JOB', workflows.createInstance({ instance, jobs: [good, bad], bookmarks }));

      assert.equal(await workflows.getInstance(instance.id), null);
      assertEqual(await workflows.getBookmarks(instance.id), []);
      assert.equal(await stateOf(world, good), null);
    });

    fact('are refused under an id that is stored already, with all that comes with them', async (world) => {
      const { workflows, clock } = world;
      const first = await started(world, { data: '{"n":1}' });
      const second = anInstance(clock, { id: first.id, data: '{"n":2}' });
      const job = aStep(clock, second);

      await rejectsWith(
        'MILLRACE_DUPLICATE_INSTANCE',
        workflows.createInstance({ instance: second, jobs: [job], bookmarks: [aBookmark(clock, second)] }),
      );

      assertSameInstance(await workflows.getInstance(first.id), first);
      assert.equal(await stateOf(world, job), null);
      assertEqual(await workflows.getBookmarks(first.id), []);
    });
  });

  describe('start keys', () => {
    fact('make a second start answer the live instance, and store nothing', async (world) => {
      const { workflows, clock } = world;
      const first = await started(world, { startKey: 'order-1' });
      const second = anInstance(clock, { startKey: 'order-1' });
      const job = aStep(clock, second);

      const id = await workflows.createInstance({
        instance: second,
        jobs: [job],
        bookmarks: [aBookmark(clock, second)],
      });

      assert.equal(id, first.id);
      assert.equal(await workflows.getInstance(second.id), null);
      assert.equal(await stateOf(world, job), null);
      assertEqual(await workflows.getBookmarks(second.id), []);
    });

    fact('are held by a suspended instance too', async (world) => {
      const first = await started(world, { startKey: 'order-1', state: 'Suspended' });
      const instance = anInstance(world.clock, { startKey: 'order-1' });

      assert.equal(await world.workflows.createInstance({ instance, jobs: [], bookmarks: [] }), first.id);
    });

    fact('are held for a definition and a tenant, whatever the version', async (world) => {
      const first = await started(world, { startKey: 'K', definitionVersion: 1 });

      await started(world, { startKey: 'K', definitionId: 'offboarding' });
      await started(world, { startKey: 'K', tenantId: 'acme' });
      await started(world, { startKey: 'K', tenantId: '' });
      await started(world, { startKey: 'k' });
      await started(world, { startKey: null });
      await started(world, { startKey: null });

      const instance = anInstance(world.clock, { startKey: 'K', definitionVersion: 2 });
      assert.equal(await world.workflows.createInstance({ instance, jobs: [], bookmarks: [] }), first.id);
    });

    fact('are free once the instance has ended, and stay readable on it', async (world) => {
      for (const state of ENDS) {
        const { id } = await started(world, { startKey: 'K' });

        await world.workflows.advanceInstance(id, changing({ update: { state } }));

        assert.equal((await storedInstance(world, id)).startKey, 'K');
      }
      await started(world, { startKey: 'K' });
    });

    fact('let one of eight concurrent starts through, and answer it to all', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      await inRounds(5, async (round) => {
        const eight = Array.from({ length: 8 }, () => anInstance(clock, { startKey: `K${round}` }));
        const first = eight.map((instance) => aStep(clock, instance));

        const ids = await inParallel(8, (n) => {
          const [instance] = eight.slice(n, n + 1);
          assert.ok(instance);
          const node = nodes[n % 2 === 0 ? 0 : 1];
          return node.workflows.createInstance({ instance, jobs: first.slice(n, n + 1), bookmarks: [] });
        });

        assert.equal(new Set(ids).size, 1, 'two live instances hold one key');
        const states = await statesOf(
          world,
          first.map(({ id }) => id),
        );
        assertEqual(
          states,
          eight.map(({ id }) => (id === ids[0] ? 'Enqueued' : null)),
        );
      });
    });
  });

  describe('the end of an instance', () => {
    fact('is now, and over when it is reopened', async (world) => {
      const { workflows, clock } = world;
      const { id } = await started(world);
      clock.advance(MINUTE);

      await workflows.advanceInstance(id, changing({ update: { state: 'Failed', failure: '{"error":"boom"}' } }));

      const ended = await storedInstance(world, id);
      assertEqual([ended.state, ended.finishedAt], ['Failed', clock.now()]);

      await workflows.advanceInstance(id, changing({ update: { state: 'Running', failure: null } }));

      const reopened = await storedInstance(world, id);
      assertEqual([reopened.state, reopened.finishedAt, reopened.failure], ['Running', null, null]);
    });

    fact('gives its start key to the next, and takes it again when it is reopened', async (world) => {
      const { workflows, clock } = world;
      const { id } = await started(world, { startKey: 'K' });
      await workflows.advanceInstance(id, changing({ update: { state: 'Failed' } }));

      await workflows.advanceInstance(id, changing({ update: { state: 'Running' } }));

      const instance = anInstance(clock, { startKey: 'K' });
      assert.equal(await workflows.createInstance({ instance, jobs: [], bookmarks: [] }), id);
    });

    fact('stays, or keeps the next one from starting, when both want the start key at one moment', async (world) => {
      const [one, other] = await world.nodes();
      await inRounds(10, async (round) => {
        const startKey = `K${round}`;
        const { id } = await started(world, { startKey });
        await one.workflows.advanceInstance(id, changing({ update: { state: 'Failed' } }));
        const next = anInstance(world.clock, { startKey });

        const [reopened, holder] = await Promise.all([
          one.workflows.advanceInstance(id, changing({ update: { state: 'Running' } })).catch(codeOf),
          other.workflows.createInstance({ instance: next, jobs: [], bookmarks: [] }),
        ]);

        assertEqual([reopened, holder], holder === id ? [true, id] : ['MILLRACE_INSTANCE_KEY_HELD', next.id]);
        assert.equal((await storedInstance(world, id)).state, holder === id ? 'Running' : 'Failed');
      });
    });

    fact('stands when it would be reopened while another one holds its start key', async (world) => {
      const { workflows } = world;
      const { id } = await started(world, { startKey: 'K' });
      await workflows.advanceInstance(id, changing({ update: { state: 'Failed' } }));
      const ended = await storedInstance(world, id);
      await started(world, { startKey: 'K' });

      await rejectsWith(
        'MILLRACE_INSTANCE_KEY_HELD',
        workflows.advanceInstance(id, changing({ update: { state: 'Running' } })),
      );

      assertSameInstance(await workflows.getInstance(id), ended);
    });

    fact('is there from the beginning when its start is all there was to do', async (world) => {
      const { workflows, clock } = world;
      for (const state of ENDS) {
        const instance = await started(world, { state, startKey: 'K' });

        assertSameInstance(await workflows.getInstance(instance.id), { ...instance, finishedAt: clock.now() });
      }
      const live = await started(world, { startKey: 'K' });

      const late = anInstance(clock, { state: 'Completed', startKey: 'K' });
      assert.equal(await workflows.createInstance({ instance: late, jobs: [], bookmarks: [] }), live.id);
      assert.equal(await workflows.getInstance(late.id), null);

      clock.advance(MINUTE);
      const before = clock.now();
      const kept = cutoffs({ completedInstances: before, failedInstances: before });
      assert.equal(await world.jobs.prune(kept, 100), ENDS.length);
    });

    fact('is none while it is suspended', async (world) => {
      const { id } = await started(world);
      const decision = anId(world.clock);

      await world.workflows.advanceInstance(
        id,
        changing({ update: { state: 'Suspended', suspendedReason: 'step', lastDecisionId: decision } }),
      );

      const { state, finishedAt, suspendedReason, lastDecisionId } = await storedInstance(world, id);
      assertEqual([state, finishedAt, suspendedReason, lastDecisionId], ['Suspended', null, 'step', decision]);
    });
  });
}
