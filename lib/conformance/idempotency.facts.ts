import assert from 'node:assert/strict';
import { later, MINUTE } from '../model/time';
import { aContinuation, aJob, anId, aScheduledJob, dead, released, stopped, succeeded } from './builders';
import { assertEqual, rejectsWith } from './expectations';
import { applied, backingOff, claimed, inParallel, inRounds, settle, stateOf, statesOf, storedJob } from './steps';
import type { FactSuite, World } from './world';

const KEY = { idempotencyKey: 'K' } as const;

/** Guarantee 6: an idempotency key is unique among the active jobs of a tenant. */
export function idempotencyFacts({ describe, fact }: FactSuite): void {
  describe('idempotency keys', () => {
    fact('make a second enqueue answer the first job and store nothing', async ({ jobs, clock }) => {
      const [first, second] = [aJob(clock, KEY), aJob(clock, KEY)];
      await jobs.enqueue([first]);

      const ids = await jobs.enqueue([second]);

      assertEqual(ids, [first.id]);
      assert.equal(await stateOf({ jobs }, second), null);
    });

    fact('take nothing of the second job over', async (world) => {
      const { jobs, clock } = world;
      const first = aScheduledJob(clock, later(clock.now(), MINUTE), KEY);
      await jobs.enqueue([first]);

      await jobs.enqueue([aJob(clock, { ...KEY, queue: 'mail', priority: 9, args: '["other"]' })]);

      const stored = await storedJob(world, first.id);
      assertEqual([stored.state, stored.queue, stored.priority, stored.args], ['Scheduled', 'default', 0, '[]']);
    });

    fact('hold across queues', async ({ jobs, clock }) => {
      const first = aJob(clock, { ...KEY, queue: 'a' });
      await jobs.enqueue([first]);

      assertEqual(await jobs.enqueue([aJob(clock, { ...KEY, queue: 'b' })]), [first.id]);
    });

    fact('let one of eight concurrent enqueues store its job, and answer it to all', async (world) => {
      const { clock } = world;
      const nodes = await world.nodes();
      await inRounds(5, async (round) => {
        const eight = Array.from({ length: 8 }, () => aJob(clock, { idempotencyKey: `K${round}` }));

        const ids = await inParallel(8, (n) => nodes[n % 2 === 0 ? 0 : 1].jobs.enqueue(eight.slice(n, n + 1)));

        const [winner, ...others] = new Set(ids.flat());
        assert.equal(others.length, 0, 'two jobs hold one key');
        const states = await statesOf(
          world,
          eight.map(({ id }) => id),
        );
        assertEqual(
          states,
          eight.map(({ id }) => (id === winner ? 'Enqueued' : null)),
        );
      });
    });

    fact('are a tenant’s own, and those without tenant share a scope of theirs', async ({ jobs, clock }) => {
      const a = aJob(clock, { ...KEY, tenantId: 'tenant-a' });
      const b = aJob(clock, { ...KEY, tenantId: 'tenant-b' });
      const none = aJob(clock, { ...KEY, tenantId: null });

      assertEqual(await jobs.enqueue([a, b, none]), [a.id, b.id, none.id]);

      assertEqual(await jobs.enqueue([aJob(clock, { ...KEY, tenantId: null })]), [none.id]);
      assertEqual(await jobs.enqueue([aJob(clock, { ...KEY, tenantId: 'tenant-a' })]), [a.id]);
    });

    fact('tell a tenant named with the empty string from none', async ({ jobs, clock }) => {
      const [none, empty] = [aJob(clock, { ...KEY, tenantId: null }), aJob(clock, { ...KEY, tenantId: '' })];

      assertEqual(await jobs.enqueue([none, empty]), [none.id, empty.id]);
    });

    fact('cannot be made to collide by a tenant that ends as another’s key begins', async ({ jobs, clock }) => {
      const pairs = [
        ['a', 'bc'],
        ['ab', 'c'],
        ['1:a', 'b'],
        ['', '1:ab'],
        ['-', 'K'],
        ['+', 'K'],
      ] as const;
      const batch = pairs.map(([tenantId, idempotencyKey]) => aJob(clock, { tenantId, idempotencyKey }));
      const untenanted = ['-K', '+K', 'abc', '1:ab'].map((idempotencyKey) => aJob(clock, { idempotencyKey }));

      const ids = await jobs.enqueue([...batch, ...untenanted]);

      assertEqual(
        ids,
        [...batch, ...untenanted].map(({ id }) => id),
      );
    });

    fact('are held while the job is Scheduled, Enqueued, Processing, Failed or Awaiting', async (world) => {
      const { jobs, clock } = world;
      const inOneHour = later(clock.now(), 60 * MINUTE);
      const parent = aJob(clock, { queue: 'parents' });
      await jobs.enqueue([parent]);
      const failing = await backingOff(world, inOneHour, { idempotencyKey: 'Failed' });
      const running = await claimed(world, { idempotencyKey: 'Processing' });
      const scheduled = aScheduledJob(clock, inOneHour, { idempotencyKey: 'Scheduled' });
      const enqueued = aJob(clock, { idempotencyKey: 'Enqueued' });
      const awaiting = aContinuation(clock, parent.id, { idempotencyKey: 'Awaiting' });
      await jobs.enqueue([scheduled, enqueued, awaiting]);
      const holders = {
        Failed: failing,
        Processing: running,
        Scheduled: scheduled,
        Enqueued: enqueued,
        Awaiting: awaiting,
      };

      for (const [idempotencyKey, { id }] of Object.entries(holders)) {
        assertEqual(await jobs.enqueue([aJob(clock, { idempotencyKey })]), [id], `held while ${idempotencyKey}`);
      }
    });

    fact('are free again once the job has ended, and stay readable on it', async (world) => {
      const { jobs } = world;
      for (const end of [succeeded, dead, stopped]) {
        const first = await claimed(world, KEY);
        await applied(jobs, end(first));
        assert.equal((await storedJob(world, first.id)).idempotencyKey, 'K');

        const second = await claimed(world, KEY);

        await applied(jobs, succeeded(second));
        assert.notEqual(second.id, first.id);
      }
    });

    fact('are kept by a release', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world, KEY);
      await applied(jobs, released(job));

      assertEqual(await jobs.enqueue([aJob(clock, KEY)]), [job.id]);
    });

    fact(
      'answer the holder or the contender when the holder ends at that moment, never anything else',
      async (world) => {
        const { jobs, clock } = world;
        const [one, other] = await world.nodes();
        await inRounds(20, async () => {
          const holder = await claimed(world, KEY);
          const contender = aJob(clock, { ...KEY, queue: 'contenders' });

          const [ids, result] = await Promise.all([
            one.jobs.enqueue([contender]),
            settle(other.jobs, succeeded(holder)),
          ]);

          assert.equal(result.outcome, 'applied');
          const stored = await stateOf(world, contender);
          assertEqual([ids, stored], ids[0] === holder.id ? [[holder.id], null] : [[contender.id], 'Enqueued']);
          await jobs.cancel(contender.id);
        });
      },
    );

    fact('skip a job that a transition brings, and let the transition apply', async (world) => {
      const { jobs, clock } = world;
      const holder = aJob(clock, { ...KEY, queue: 'other' });
      await jobs.enqueue([holder]);
      const job = await claimed(world);
      const [skipped, plain] = [aJob(clock, KEY), aJob(clock)];

      await applied(jobs, succeeded(job, { enqueue: [skipped, plain] }));

      assertEqual(await statesOf(world, [holder.id, skipped.id, plain.id]), ['Enqueued', null, 'Enqueued']);
    });

    fact('are free for the successor that a job brings as it ends', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world, KEY);
      const successor = aJob(clock, KEY);

      await applied(jobs, succeeded(job, { enqueue: [successor] }));

      assert.equal(await stateOf(world, successor), 'Enqueued');
    });

    fact('do not hide that a continuation’s parent is unknown', async ({ jobs, clock }) => {
      await jobs.enqueue([aJob(clock, KEY)]);

      await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([aContinuation(clock, anId(clock), KEY)]));
    });

    fact('do not keep a continuation from being stored as Cancelled', async (world) => {
      const { jobs, clock } = world;
      const parent = await claimed(world);
      await applied(jobs, dead(parent));
      const holder = aJob(clock, KEY);
      await jobs.enqueue([holder]);
      const child = aContinuation(clock, parent.id, KEY);

      const ids = await jobs.enqueue([child]);

      assertEqual(ids, [child.id]);
      assertEqual(await statesOf(world, [holder.id, child.id]), ['Enqueued', 'Cancelled']);
    });

    fact('let two batches with the same keys in opposite order both succeed', async (world) => {
      const [one, other] = await world.nodes();
      await inRounds(10, async (round) => {
        const keys = Array.from({ length: 6 }, (_, n) => `round-${round}-${n}`);
        const forth = keys.map((idempotencyKey) => aJob(world.clock, { idempotencyKey }));
        const back = keys.toReversed().map((idempotencyKey) => aJob(world.clock, { idempotencyKey }));

        const [forthIds, backIds] = await Promise.all([one.jobs.enqueue(forth), other.jobs.enqueue(back)]);

        assertEqual(forthIds, backIds.toReversed());
        assert.equal(
          await countStored(
            world,
            [...forth, ...back].map(({ id }) => id),
          ),
          keys.length,
        );
      });
    });
  });
}

async function countStored(world: World, ids: readonly string[]): Promise<number> {
  const states = await statesOf(world, ids);
  return states.filter((state) => state !== null).length;
}
