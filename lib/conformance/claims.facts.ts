import assert from 'node:assert/strict';
import { Retry } from '../model/retry';
import { later, MINUTE, SECOND } from '../model/time';
import { aContinuation, aJob, anId, aScheduledJob, claimBy, someJobs } from './builders';
import { assertEqual, assertSameJson } from './expectations';
import { idsOf } from './pages';
import { backingOff, drain, inParallel, inRounds, stateOf, storedJob, takeOne } from './steps';
import type { FactSuite } from './world';

/** Guarantees 1 and 2: a claim is exclusive, and takes a lease. */
export function claimFacts({ describe, fact }: FactSuite): void {
  describe('claims', () => {
    fact('hands each job to one worker, however many ask at once', async (world) => {
      const { jobs, clock } = world;
      const nodes = await world.nodes();
      const hundred = someJobs(100, clock);
      await jobs.enqueue(hundred);

      const byWorker = await inParallel(8, (n) =>
        drain(() => nodes[n % 2 === 0 ? 0 : 1].jobs.claim(claimBy(`w${n}`, { limit: 5 }))),
      );
      // A claim may come back empty because others held what it saw; whatever that left is still there.
      const rest = await drain(() => jobs.claim(claimBy('w8')));

      assertEqual(idsOf([...byWorker.flat(), ...rest]).toSorted(), idsOf(hundred).toSorted());
    });

    fact('hands one job to one of eight workers', async (world) => {
      const { jobs, clock } = world;
      const nodes = await world.nodes();

      await inRounds(10, async (round) => {
        const queue = `round-${round}`;
        await jobs.enqueue([aJob(clock, { queue })]);

        const claims = await inParallel(8, (n) =>
          nodes[n % 2 === 0 ? 0 : 1].jobs.claim(claimBy(`w${n}`, { queues: [queue] })),
        );

        assert.equal(claims.flat().length, 1);
      });
    });

    fact('makes the job Processing under its worker, with a lease from now and an attempt more', async (world) => {
      const { jobs, clock } = world;
      const job = aJob(clock);
      await jobs.enqueue([job]);
      clock.advance(MINUTE);

      const claim = await takeOne(jobs, claimBy('w1', { leaseDuration: 5 * MINUTE }));

      const stored = await storedJob(world, job.id);
      assert.equal(claim.attempt, 1);
      assertEqual(
        { state: stored.state, workerId: stored.workerId, leaseUntil: stored.leaseUntil, attempt: stored.attempt },
        { state: 'Processing', workerId: 'w1', leaseUntil: later(clock.now(), 5 * MINUTE), attempt: 1 },
      );
      assertEqual([stored.failures, stored.releases, stored.interruptions], [0, 0, 0]);
    });

    fact('gives the worker all that it needs to run the job', async ({ jobs, clock }) => {
      const job = aJob(clock, {
        priority: 3,
        handler: 'EmailSender.send',
        args: '["a",{"b":1}]',
        argTypes: '{"0":"url"}',
        retry: Retry.fixed(30 * SECOND, 3),
        tenantId: 'acme',
        traceParent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        recurringId: 'nightly',
        occurrenceAt: later(clock.now(), -MINUTE),
        timeout: 1500,
        instanceId: anId(clock),
        position: '{"node":"a1","path":[]}',
        scope: 'par1.0/',
      });
      await jobs.enqueue([job]);

      const [claim] = await jobs.claim(claimBy('w1'));

      assert.ok(claim);
      const { args, argTypes, position, ...plain } = claim;
      assertSameJson(args, job.args);
      assertSameJson(argTypes, job.argTypes);
      assertSameJson(position, job.position);
      assertEqual(plain, {
        id: job.id,
        queue: job.queue,
        priority: job.priority,
        handler: job.handler,
        retry: job.retry,
        createdAt: job.createdAt,
        readyAt: job.createdAt,
        attempt: 1,
        failures: 0,
        releases: 0,
        interruptions: 0,
        cancelRequested: false,
        closing: false,
        tenantId: job.tenantId,
        traceParent: job.traceParent,
        recurringId: job.recurringId,
        occurrenceAt: job.occurrenceAt,
        timeout: job.timeout,
        instanceId: job.instanceId,
        scope: job.scope,
      });
    });

    fact('takes no more than it was asked for', async ({ jobs, clock }) => {
      await jobs.enqueue(someJobs(3, clock));

      const claims = await jobs.claim(claimBy('w1', { limit: 2 }));

      assert.equal(claims.length, 2);
    });

    fact('takes nothing for a limit of zero or less, or for no queue at all', async (world) => {
      const { jobs, clock } = world;
      const job = aJob(clock);
      await jobs.enqueue([job]);

      assertEqual(await jobs.claim(claimBy('w1', { limit: 0 })), []);
      assertEqual(await jobs.claim(claimBy('w1', { limit: -5 })), []);
      assertEqual(await jobs.claim(claimBy('w1', { queues: [] })), []);
      assert.equal(await stateOf(world, job), 'Enqueued');
    });

    fact('takes from the queues it names and from no other', async ({ jobs, clock }) => {
      const mail = aJob(clock, { queue: 'mail' });
      await jobs.enqueue([aJob(clock, { queue: 'reports' }), mail]);

      const claims = await jobs.claim(claimBy('w1', { queues: ['mail', 'nothing-here'] }));

      assertEqual(idsOf(claims), [mail.id]);
    });

    fact('takes several queues as one pool, by priority and then age', async ({ jobs, clock }) => {
      const lowA = aJob(clock, { queue: 'a' });
      const highB = aJob(clock, { queue: 'b', priority: 5 });
      const lowB = aJob(clock, { queue: 'b' });
      const highA = aJob(clock, { queue: 'a', priority: 5 });
      for (const job of [lowA, highB, lowB, highA]) await jobs.enqueue([job]);

      const claims = await jobs.claim(claimBy('w1', { queues: ['a', 'b'], limit: 4 }));

      assertEqual(
        idsOf(claims),
        [highB, highA, lowA, lowB].map(({ id }) => id),
      );
    });

    fact('takes the first of that order when it cannot take all', async ({ jobs, clock }) => {
      const low = someJobs(3, clock, { queue: 'a' });
      const high = someJobs(2, clock, { queue: 'b', priority: 5 });
      const below = aJob(clock, { queue: 'a', priority: -1 });
      await jobs.enqueue([below, ...low, ...high]);

      const first = await jobs.claim(claimBy('w1', { queues: ['a', 'b'], limit: 3 }));
      const second = await jobs.claim(claimBy('w1', { queues: ['b', 'a'], limit: 3 }));

      const expected = [...high, ...low, below].map(({ id }) => id);
      assertEqual([...idsOf(first), ...idsOf(second)], expected);
    });

    fact('orders equal priorities by when they became claimable, not by when they were created', async (world) => {
      const { jobs, clock } = world;
      const older = aScheduledJob(clock, later(clock.now(), 2 * MINUTE));
      await jobs.enqueue([older]);
      clock.advance(MINUTE);
      const newer = aJob(clock);
      await jobs.enqueue([newer]);
      clock.advance(MINUTE);
      await jobs.activateDue(10);

      const claims = await jobs.claim(claimBy('w1'));

      assertEqual(idsOf(claims), [newer.id, older.id]);
    });

    fact('orders jobs of one instant by id, in whatever order they were stored', async ({ jobs, clock }) => {
      const five = someJobs(5, clock);
      for (const job of five.toReversed()) await jobs.enqueue([job]);

      const claims = await jobs.claim(claimBy('w1'));

      assertEqual(idsOf(claims), idsOf(five));
    });

    fact('never takes a Scheduled job, however long it has been due', async (world) => {
      const job = aScheduledJob(world.clock, later(world.clock.now(), -MINUTE));
      await world.jobs.enqueue([job]);

      assertEqual(await world.jobs.claim(claimBy('w1')), []);
      assert.equal(await stateOf(world, job), 'Scheduled');
    });

    fact('never takes a Failed job, however long it has been due', async (world) => {
      const job = await backingOff(world, world.clock.now());
      world.clock.advance(MINUTE);

      assertEqual(await world.jobs.claim(claimBy('w2')), []);
      assert.equal(await stateOf(world, job), 'Failed');
    });

    fact('never takes an Awaiting job', async (world) => {
      const { jobs, clock } = world;
      const parent = aJob(clock, { queue: 'other' });
      const child = aContinuation(clock, parent.id);
      await jobs.enqueue([parent, child]);

      assertEqual(await jobs.claim(claimBy('w1')), []);
      assert.equal(await stateOf(world, child), 'Awaiting');
    });

    fact('stops adding jobs once their arguments exceed the payload it was allowed', async ({ jobs, clock }) => {
      const args = JSON.stringify(['x'.repeat(1000)]);
      const ten = someJobs(10, clock, { args });
      await jobs.enqueue(ten);

      const claims = await jobs.claim(claimBy('w1', { limit: 10, maxPayload: 2500 }));

      // The job that exceeds it may or may not be among them.
      assert.ok(claims.length === 2 || claims.length === 3, `${claims.length} jobs of 1,000 within 2,500`);
      assertEqual(idsOf(claims), idsOf(ten).slice(0, claims.length));
      assert.equal((await jobs.claim(claimBy('w1'))).length, 10 - claims.length);
    });

    fact('takes one job even if that one alone exceeds the payload it was allowed', async ({ jobs, clock }) => {
      const [big] = await jobs.enqueue(someJobs(2, clock, { args: JSON.stringify(['x'.repeat(1000)]) }));

      const claims = await jobs.claim(claimBy('w1', { maxPayload: 10 }));

      assertEqual(idsOf(claims), [big]);
    });
  });
}
