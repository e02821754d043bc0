import assert from 'node:assert/strict';
import { later, MINUTE, SECOND } from '../model/time';
import { anId, succeeded } from './builders';
import { assertEqual, assertSameBookmark } from './expectations';
import { applied, applyOne, runningStep, started } from './steps';
import type { FactSuite } from './world';
import { aBookmark, aStep, changing } from './workflow-builders';

/** A wait is a bookmark: it comes and goes with what its instance decides. */
export function bookmarkFacts({ describe, fact }: FactSuite): void {
  describe('bookmarks', () => {
    fact('come back with every field as they were stored', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, { tenantId: 'acme' });
      const bookmark = aBookmark(clock, instance, {
        signalName: 'document-signed',
        correlationId: 'customer-7',
        position: '{"node":"sig2","path":[["par1",0]]}',
        scope: 'par1.0/',
        expiresAt: later(clock.now(), 3 * MINUTE),
      });

      await workflows.advanceInstance(instance.id, changing({ addBookmarks: [bookmark] }));

      const [stored] = await workflows.getBookmarks(instance.id);
      assertSameBookmark(stored, bookmark);
    });

    fact('are listed for their instance alone', async (world) => {
      const { workflows, clock } = world;
      const mine = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made), aBookmark(clock, made)],
      }));
      await started(world, {}, (made) => ({ bookmarks: [aBookmark(clock, made)] }));

      const listed = await workflows.getBookmarks(mine.id);

      assertEqual(
        listed.map(({ instanceId }) => instanceId),
        [mine.id, mine.id],
      );
      assertEqual(await workflows.getBookmarks(anId(clock)), []);
    });

    fact('can be looked at before a signal consumes them', async (world) => {
      const { workflows, clock } = world;
      assert.equal(await workflows.peekBookmark('approval', 'order-1', null), null);
      const [newer, older] = ['newer', 'older'].map((scope, n) => ({
        scope,
        createdAt: later(clock.now(), -n * SECOND),
      }));
      await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, newer), aBookmark(clock, made, older)],
      }));

      const seen = await workflows.peekBookmark('approval', 'order-1', null);
      const again = await workflows.peekBookmark('approval', 'order-1', null);

      assert.equal(seen?.scope, 'older');
      assertEqual(again, seen);
      assert.equal(await workflows.peekBookmark('approval', 'order-1', 'acme'), null);
      assert.equal(await workflows.peekBookmark('approval', 'order-2', null), null);
      assert.equal(await workflows.peekBookmark('rejection', 'order-1', null), null);
    });

    fact('are removed by id', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world);
      const [removed, kept] = [aBookmark(clock, instance), aBookmark(clock, instance)];
      await workflows.advanceInstance(instance.id, changing({ addBookmarks: [removed, kept] }));

      await workflows.advanceInstance(instance.id, changing({ removeBookmarks: { ids: [removed.id, anId(clock)] } }));

      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [kept.id],
      );
    });

    fact('are removed by scope, at and below its path and nowhere else', async (world) => {
      const { workflows, clock } = world;
      const scopes = ['each1.1/', 'each1.1/par1.0/', 'each1.10/', '', 'Each1.1/', 'each1_1/'];
      const made = await Promise.all([0, 1].map(() => started(world)));
      const [instance, other] = made;
      assert.ok(instance && other);
      for (const owner of made) {
        const addBookmarks = scopes.map((scope) => aBookmark(clock, owner, { scope }));
        await workflows.advanceInstance(owner.id, changing({ addBookmarks }));
      }

      await workflows.advanceInstance(instance.id, changing({ removeBookmarks: { scopes: ['each1.1/'] } }));

      const left = (await workflows.getBookmarks(instance.id)).map(({ scope }) => scope);
      assertEqual(left.toSorted(), ['', 'Each1.1/', 'each1.10/', 'each1_1/']);
      assert.equal((await workflows.getBookmarks(other.id)).length, scopes.length);
    });

    fact('of a transition exist if and only if it applies', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world);
      const bookmark = aBookmark(clock, instance);
      const advance = changing({ addBookmarks: [bookmark] });

      await applyOne(jobs, succeeded({ ...step, attempt: 9 }, { advance }));
      assertEqual(await workflows.getBookmarks(instance.id), []);

      await applied(jobs, succeeded(step, { advance }));
      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [bookmark.id],
      );
    });

    fact('that a rejected transition would have removed stay', async (world) => {
      const { jobs, workflows, clock } = world;
      const { instance, step } = await runningStep(world);
      const bookmark = aBookmark(clock, instance);
      await workflows.advanceInstance(instance.id, changing({ addBookmarks: [bookmark] }));
      const stored = aStep(clock, instance);
      await jobs.enqueue([stored]);

      const result = await applyOne(
        jobs,
        succeeded(step, { advance: changing({ removeBookmarks: { ids: [bookmark.id] }, enqueue: [stored] }) }),
      );

      assert.equal(result.outcome, 'rejected');
      assertEqual(
        (await workflows.getBookmarks(instance.id)).map(({ id }) => id),
        [bookmark.id],
      );
    });
  });
}
