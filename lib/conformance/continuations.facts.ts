import assert from 'node:assert/strict';
import type { JobTransition } from '../model/job-transition';
import { MINUTE } from '../model/time';
import {
  aContinuation,
  aJob,
  anId,
  claimBy,
  type Claimed,
  dead,
  failed,
  released,
  stopped,
  succeeded,
} from './builders';
import { assertEqual, rejectsWith } from './expectations';
import { applied, claimed, inParallel, inRounds, settle, stateOf, statesOf, storedJob, takeOne } from './steps';
import type { FactSuite, World } from './world';

/** A continuation shares its parent's fate, and is never left waiting for a parent that has ended. */
export function continuationFacts({ describe, fact }: FactSuite): void {
  describe('continuations', () => {
    fact('run when their parent has succeeded, and theirs go on waiting for them', async (world) => {
      const { jobs, clock } = world;
      const { parent, child, grandchild } = await family(world);
      clock.advance(MINUTE);

      await applied(jobs, succeeded(parent));

      assertEqual(await statesOf(world, [child, grandchild]), ['Enqueued', 'Awaiting']);
      const stored = await storedJob(world, child);
      assertEqual([stored.readyAt, stored.parentId], [clock.now(), parent.id]);
    });

    fact('run all, however many wait for one parent', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      const children = Array.from({ length: 25 }, () => aContinuation(clock, parent.id));
      await jobs.enqueue(children);

      await applied(jobs, succeeded(parent));

      assert.equal((await jobs.claim(claimBy('w2', { limit: 100 }))).length, 25);
    });

    fact('are cancelled with a parent that died, all the way down, and give their keys back', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      const child = aContinuation(clock, parent.id, { idempotencyKey: 'child' });
      const grandchild = aContinuation(clock, child.id, { idempotencyKey: 'grandchild' });
      await jobs.enqueue([child, grandchild]);

      await applied(jobs, dead(parent));

      assertEqual(await statesOf(world, [child.id, grandchild.id]), ['Cancelled', 'Cancelled']);
      assertEqual((await storedJob(world, grandchild.id)).finishedAt, clock.now());
      const again = ['child', 'grandchild'].map((idempotencyKey) => aJob(clock, { idempotencyKey }));
      assertEqual(
        await jobs.enqueue(again),
        again.map(({ id }) => id),
      );
    });

    fact('are cancelled with a parent that was stopped', async (world) => {
      const { parent, child, grandchild } = await family(world);

      await applied(world.jobs, stopped(parent));

      assertEqual(await statesOf(world, [child, grandchild]), ['Cancelled', 'Cancelled']);
    });

    fact('that run already shield those behind them', async (world) => {
      const { jobs } = world;
      const { parent, child, grandchild } = await family(world);
      await applied(jobs, succeeded(parent));
      assertEqual(await statesOf(world, [child, grandchild]), ['Enqueued', 'Awaiting']);

      await applied(jobs, dead(await takeOne(jobs, claimBy('w1'))));

      assertEqual(await statesOf(world, [child, grandchild]), ['Dead', 'Cancelled']);
    });

    fact('go on waiting while their parent fails and is given back', async (world) => {
      const { jobs, clock } = world;
      const { parent, child } = await family(world);

      await applied(jobs, failed(parent, clock.now()));
      assert.equal(await stateOf(world, { id: child }), 'Awaiting');

      await jobs.activateDue(10);
      await applied(jobs, released(await takeOne(jobs, claimBy('w2'))));
      assert.equal(await stateOf(world, { id: child }), 'Awaiting');
    });

    fact('of a parent that has succeeded are stored Enqueued', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await applied(jobs, succeeded(parent));
      clock.advance(MINUTE);
      const child = aContinuation(clock, parent.id);

      await jobs.enqueue([child]);

      const stored = await storedJob(world, child.id);
      assertEqual([stored.state, stored.readyAt, stored.parentId], ['Enqueued', clock.now(), parent.id]);
      assert.equal((await takeOne(jobs, claimBy('w2'))).id, child.id);
    });

    fact('of a parent that has died are stored Cancelled, finished now', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await applied(jobs, dead(parent));
      clock.advance(MINUTE);
      const child = aContinuation(clock, parent.id);

      await jobs.enqueue([child]);

      const stored = await storedJob(world, child.id);
      assertEqual([stored.state, stored.finishedAt, stored.readyAt], ['Cancelled', clock.now(), null]);
    });

    fact('of a parent that was cancelled are stored Cancelled', async (world) => {
      const { jobs, clock } = world;
      const parent = aJob(clock);
      await jobs.enqueue([parent]);
      await jobs.cancel(parent.id);
      const child = aContinuation(clock, parent.id);

      await jobs.enqueue([child]);

      assert.equal(await stateOf(world, child), 'Cancelled');
    });

    fact('of a continuation stored Cancelled are stored Cancelled with it', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await applied(jobs, dead(parent));
      const child = aContinuation(clock, parent.id);
      const grandchild = aContinuation(clock, child.id);

      await jobs.enqueue([child, grandchild]);

      assertEqual(await statesOf(world, [child.id, grandchild.id]), ['Cancelled', 'Cancelled']);
    });

    fact('of an unknown parent are refused with all of their call, naming that parent', async (world) => {
      const { jobs, clock } = world;
      const unknown = anId(clock);
      const [good, orphan] = [aJob(clock), aContinuation(clock, unknown)];

      const error = await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([good, orphan]));

      const { parentId, jobId } = error as unknown as Record<string, unknown>;
      assertEqual([parentId, jobId], [unknown, orphan.id]);
      assertEqual(await statesOf(world, [good.id, orphan.id]), [null, null]);
    });

    fact('of a parent that was deleted are refused', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await applied(jobs, succeeded(parent));
      await jobs.delete(parent.id);

      await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([aContinuation(clock, parent.id)]));
    });

    fact('stored while their parent succeeds all run', async (world) => {
      await race(world, succeeded, 'Enqueued');
    });

    fact('stored while their parent dies are all cancelled', async (world) => {
      await race(world, dead, 'Cancelled');
    });

    fact('stored while their own parent is being cancelled with its ancestor are cancelled too', async (world) => {
      const { clock } = world;
      const [one, other] = await world.nodes();
      await inRounds(5, async () => {
        const { parent, child } = await family(world);
        const late = Array.from({ length: 24 }, () => aContinuation(clock, child));

        const [result] = await Promise.all([
          settle(one.jobs, dead(parent)),
          inParallel(8, async (n) => {
            for (const job of late.slice(3 * n, 3 * n + 3)) await other.jobs.enqueue([job]);
          }),
        ]);

        assert.equal(result.outcome, 'applied');
        assertEqual(
          await statesOf(
            world,
            late.map(({ id }) => id),
          ),
          late.map(() => 'Cancelled'),
        );
      });
    });
  });
}

/** A claimed job, its continuation, and that one's. */
async function family(world: World): Promise<{ parent: Claimed; child: string; grandchild: string }> {
  const parent = await claimed(world);
  const child = aContinuation(world.clock, parent.id);
  const grandchild = aContinuation(world.clock, child.id);
  await world.jobs.enqueue([child, grandchild]);
  return { parent, child: child.id, grandchild: grandchild.id };
}

/** Eight nodes store ten continuations each, one by one, while their parent ends. */
async function race(
  world: World,
  end: (job: Claimed) => JobTransition,
  expected: 'Enqueued' | 'Cancelled',
): Promise<void> {
  const [one, other] = await world.nodes();
  const parent = await claimed(world);
  const children = Array.from({ length: 80 }, () => aContinuation(world.clock, parent.id));

  const [result] = await Promise.all([
    settle(one.jobs, end(parent)),
    inParallel(8, async (n) => {
      const node = n % 2 === 0 ? one : other;
      for (const child of children.slice(10 * n, 10 * n + 10)) await node.jobs.enqueue([child]);
    }),
  ]);

  assert.equal(result.outcome, 'applied');
  const states = await statesOf(
    world,
    children.map(({ id }) => id),
  );
  assertEqual(
    states,
    children.map(() => expected),
  );
}
