import assert from 'node:assert/strict';
import type { Bookmark } from '../model/bookmark';
import type { JobRecord } from '../model/job';
import { later, MINUTE } from '../model/time';
import { aJob, claimBy } from './builders';
import { assertEqual, assertSameBookmark, assertSameJson } from './expectations';
import { inParallel, inRounds, started, stateOf, storedJob } from './steps';
import type { FactSuite, World } from './world';
import { aBookmark, aSignal } from './workflow-builders';

/** A wait that nobody ended in time ends by itself, once, and races fairly with a signal. */
export function expiryFacts({ describe, fact }: FactSuite): void {
  describe('expired waits', () => {
    fact('are consumed, and resume where they stood', async (world) => {
      const { workflows, clock } = world;
      const expiresAt = later(clock.now(), MINUTE);
      let bookmark: Bookmark | undefined;
      const instance = await started(world, {}, (made) => {
        bookmark = aBookmark(clock, made, {
          expiresAt,
          position: '{"node":"sig1","path":[["par1",1]]}',
          scope: 'par1.1/',
        });
        return { bookmarks: [bookmark] };
      });
      clock.advance(MINUTE);
      const seen: Bookmark[] = [];
      const timeOut = aJob(clock, { handler: 'Conformance.timeOut' });

      const ended = await workflows.expireBookmarks(10, (expired) => {
        seen.push(expired);
        return timeOut;
      });

      assert.equal(ended, 1);
      assert.ok(bookmark);
      assertSameBookmark(seen.at(-1), bookmark);
      assertEqual(await workflows.getBookmarks(instance.id), []);
      const job = await storedJob(world, timeOut.id);
      assertEqual([job.state, job.instanceId, job.scope], ['Enqueued', instance.id, 'par1.1/']);
      assertSameJson(job.position, bookmark.position);
    });

    fact('are not those that have time left, or for ever', async (world) => {
      const { workflows, clock } = world;
      const instance = await started(world, {}, (made) => ({
        bookmarks: [aBookmark(clock, made, { expiresAt: later(clock.now(), MINUTE) }), aBookmark(clock, made)],
      }));
      clock.advance(MINUTE - 1);

      assert.equal(await workflows.expireBookmarks(10, () => aJob(clock)), 0);

      assert.equal((await workflows.getBookmarks(instance.id)).length, 2);
      assertEqual(await world.jobs.claim(claimBy('w1')), []);
    });

    fact('are ended within the limit, each with a job of its own', async (world) => {
      const { workflows, clock } = world;
      await waits(world, 5);

      const counts = [];
      for (let n = 0; n < 4; n++) counts.push(await workflows.expireBookmarks(2, () => aJob(clock)));

      assertEqual(counts, [2, 2, 1, 0]);
      assert.equal((await world.jobs.claim(claimBy('w1'))).length, 5);
    });

    fact('are ended once by eight nodes at once', async (world) => {
      const { workflows, clock } = world;
      const nodes = await world.nodes();
      await waits(world, 20);

      const counts = await inParallel(8, (n) =>
        nodes[n % 2 === 0 ? 0 : 1].workflows.expireBookmarks(5, () => aJob(clock)),
      );
      // A pass may find nothing because others held what has expired; whatever that left is still there.
      for (let n = 1; n > 0; counts.push(n)) n = await workflows.expireBookmarks(5, () => aJob(clock));

      assert.equal(
        counts.reduce((sum, count) => sum + count),
        20,
      );
      assert.equal((await world.jobs.claim(claimBy('w1', { limit: 50 }))).length, 20);
    });

    fact('can still be ended by a signal that comes before their end does', async (world) => {
      const { workflows, clock } = world;
      await waits(world, 1);
      clock.advance(MINUTE);

      assert.equal(await workflows.signal(aSignal(clock)), true);

      assert.equal(await workflows.expireBookmarks(10, () => aJob(clock)), 0);
    });

    fact('and a signal at one moment end with one of the two', async (world) => {
      const [one, other] = await world.nodes();
      const { clock } = world;
      await inRounds(20, async () => {
        await waits(world, 1);
        const signal = aSignal(clock);
        const timeOut: JobRecord = aJob(clock, { handler: 'Conformance.timeOut' });

        const [delivered, ended] = await Promise.all([
          one.workflows.signal(signal),
          other.workflows.expireBookmarks(10, () => timeOut),
        ]);

        assert.equal(Number(delivered) + ended, 1);
        const states = [await stateOf(world, signal.job), await stateOf(world, timeOut)];
        assertEqual(states, delivered ? ['Enqueued', null] : [null, 'Enqueued']);
      });
    });
  });
}

/** Stores an instance with so many waits that have expired. */
async function waits(world: World, count: number): Promise<void> {
  const { clock } = world;
  await started(world, {}, (made) => ({
    bookmarks: Array.from({ length: count }, () => aBookmark(clock, made, { expiresAt: clock.now() })),
  }));
}
