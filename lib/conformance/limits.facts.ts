import assert from 'node:assert/strict';
import { RetryKind } from '../model/retry';
import { DAY, LATEST_INSTANT, later } from '../model/time';
import { aContinuation, aDefinition, aJob, anId, aScheduledJob, claimBy, failed } from './builders';
import {
  assertEqual,
  assertSameBookmark,
  assertSameDefinition,
  assertSameInstance,
  assertSameJob,
  rejectsWith,
} from './expectations';
import { applied, claimed, detailsOf, started, statesOf, storedJob } from './steps';
import type { FactSuite } from './world';
import { aBookmark, anInstance, aSignal, changing } from './workflow-builders';

/** Fills so many UTF-16 units: with one byte each, with the three that hurt an index most, and with pairs. */
const FILLINGS: Readonly<Record<string, (units: number) => string>> = {
  'plain letters': (units) => 'x'.repeat(units),
  'letters of three bytes': (units) => '語'.repeat(units),
  'pairs of units': (units) => '😀'.repeat(units / 2),
};

const MEBIBYTE = 2 ** 20;
const aMebibyte = (): string => JSON.stringify(['x'.repeat(MEBIBYTE - 4)]);

/** What is allowed fits, and comes back as it went in. */
export function limitFacts({ describe, fact }: FactSuite): void {
  describe('names at their longest', () => {
    for (const [what, fill] of Object.entries(FILLINGS)) {
      fact(`fit on a job, in ${what}`, async (world) => {
        const { jobs, clock } = world;
        const job = aJob(clock, {
          queue: fill(128),
          tenantId: fill(128),
          handler: fill(256),
          recurringId: fill(256),
          idempotencyKey: fill(512),
        });

        assertEqual(await jobs.enqueue([job]), [job.id]);

        assertSameJob(await jobs.getJob(job.id), job);
        assertEqual(await jobs.enqueue([aJob(clock, { ...job, id: anId(clock) })]), [job.id]);
        assert.equal((await jobs.claim(claimBy('w1', { queues: [job.queue] }))).length, 1);
      });

      fact(`fit on a recurring definition, in ${what}`, async ({ jobs, monitoring, clock }) => {
        const definition = aDefinition(clock, {
          id: fill(256),
          queue: fill(128),
          tenantId: fill(128),
          handler: fill(256),
        });

        await jobs.upsertRecurring(definition);

        assertSameDefinition(await jobs.getRecurring(definition.id), definition);
        assert.equal((await monitoring.queryRecurring({ queue: definition.queue })).items.length, 1);
      });

      fact(`fit on an instance and its waits, in ${what}`, async (world) => {
        const { workflows, clock } = world;
        const names = { definitionId: fill(128), tenantId: fill(128), startKey: fill(512) };
        const instance = anInstance(clock, names);
        const bookmark = aBookmark(clock, instance, { signalName: fill(128), correlationId: fill(512) });

        await workflows.createInstance({ instance, jobs: [], bookmarks: [bookmark] });

        assertSameInstance(await workflows.getInstance(instance.id), instance);
        assertSameBookmark((await workflows.getBookmarks(instance.id))[0], bookmark);
        const again = anInstance(clock, names);
        assert.equal(await workflows.createInstance({ instance: again, jobs: [], bookmarks: [] }), instance.id);
        const { signalName: name, correlationId, tenantId } = bookmark;
        assert.equal(await workflows.signal(aSignal(clock, { name, correlationId, tenantId })), true);
      });
    }

    fact('differ in their last unit', async ({ jobs, clock }) => {
      const keys = ['a', 'b'].map((last) => '語'.repeat(511) + last);
      const both = keys.map((idempotencyKey) => aJob(clock, { idempotencyKey, tenantId: '語'.repeat(128) }));

      assertEqual(
        await jobs.enqueue(both),
        both.map(({ id }) => id),
      );
    });
  });

  describe('payloads', () => {
    fact('of a mebibyte fit a job', async (world) => {
      const { jobs, clock } = world;
      const job = aJob(clock, { args: aMebibyte() });

      await jobs.enqueue([job]);

      const [claim] = await jobs.claim(claimBy('w1'));
      assert.ok(claim?.args === job.args);
      assert.ok((await storedJob(world, job.id)).args === job.args);
    });

    fact('of a mebibyte of text in many bytes fit a job', async ({ jobs, clock }) => {
      const job = aJob(clock, { args: JSON.stringify(['語😀'.repeat(MEBIBYTE / 7)]) });

      await jobs.enqueue([job]);

      assertSameJob(await jobs.getJob(job.id), job);
    });

    fact('of a mebibyte fit an instance', async (world) => {
      const { workflows } = world;
      const data = JSON.stringify({ text: 'x'.repeat(MEBIBYTE - 12) });
      const instance = await started(world, { data });
      assertSameInstance(await workflows.getInstance(instance.id), instance);

      const grown = JSON.stringify({ text: 'y'.repeat(MEBIBYTE - 12) });
      await workflows.advanceInstance(instance.id, changing({ update: { data: grown } }));

      assertEqual(JSON.parse((await workflows.getInstance(instance.id))?.data ?? ''), JSON.parse(grown));
    });

    fact('of nine mebibytes fit a batch, which is stored whole or not at all', async (world) => {
      const { jobs, clock } = world;
      const nine = Array.from({ length: 9 }, () => aJob(clock, { args: aMebibyte() }));
      const ids = nine.map(({ id }) => id);

      await rejectsWith('MILLRACE_PARENT_JOB_NOT_FOUND', jobs.enqueue([...nine, aContinuation(clock, anId(clock))]));
      assertEqual(
        await statesOf(world, ids),
        nine.map(() => null),
      );

      await jobs.enqueue(nine);
      assertEqual(
        await statesOf(world, ids),
        nine.map(() => 'Enqueued'),
      );
    });

    fact('carry any text that is text', async ({ jobs, clock }) => {
      const texts = [
        '"\'`\\/\b\f\n\r\t',
        '\u0001\u001f\u007f\u0080\u009f',
        '\u2028\u2029\ufeff\ufffd\uffff\u{10ffff}',
        'e\u0301\u00e9 \u202e rtl \u05d0\u05d1',
        '👩‍👩‍👧‍👦',
        `'); drop table jobs; -- $1 ? :x @p0 %s {}`,
        '',
        '\\u0041',
      ];
      const object = Object.fromEntries(texts.map((text) => [text, [text]]));
      const hostile = `{"__proto__":{"a":1},"constructor":2,"toJSON":3,"then":4}`;
      const job = aJob(clock, { args: `[${JSON.stringify(object)},${hostile}]`, argTypes: JSON.stringify(object) });

      await jobs.enqueue([job]);

      assertSameJob(await jobs.getJob(job.id), job);
    });

    fact('carry any number, and any depth', async ({ jobs, clock }) => {
      const numbers = [
        0,
        1,
        -1,
        0.1,
        1.1e-7,
        1e21,
        5e-324,
        Number.MAX_VALUE,
        Number.MAX_SAFE_INTEGER,
        -1e-300,
        123456.789,
      ];
      const deep = '['.repeat(100) + '1' + ']'.repeat(100);
      const job = aJob(clock, { args: `[${JSON.stringify(numbers)},${deep},true,false,null,{},[],""]` });

      await jobs.enqueue([job]);

      assertSameJob(await jobs.getJob(job.id), job);
    });
  });

  describe('errors', () => {
    fact('of eight kibibytes are kept whole, on the job and in its history', async (world) => {
      const { jobs, clock } = world;
      const errors = [
        'x'.repeat(8192),
        '語'.repeat(2730),
        '😀'.repeat(2048),
        `\u001b[31mError: "it's" 100%\r\n\tat a (\\b:1:2)\u001b[0m`,
      ];
      for (const error of errors) {
        const job = await claimed(world);

        await applied(jobs, failed(job, later(clock.now(), DAY), { error }));

        const { lastError, attempts } = await detailsOf(world, job.id);
        assert.equal(lastError, error);
        assert.equal(attempts[0]?.error, error);
      }
    });
  });

  describe('numbers and instants', () => {
    fact('at their extremes come back exactly', async (world) => {
      const { jobs, clock } = world;
      const [lowest, highest] = [-(2 ** 31), 2 ** 31 - 1];
      const jobsAtTheEdge = [
        aJob(clock, { priority: highest, timeout: 30 * DAY, occurrenceAt: new Date(0) }),
        aJob(clock, {
          priority: lowest,
          timeout: 1,
          retry: { kind: RetryKind.Exponential, maxAttempts: highest, baseDelay: 2 ** 52, maxDelay: 2 ** 52 },
          occurrenceAt: LATEST_INSTANT,
        }),
        aScheduledJob(clock, LATEST_INSTANT),
        aScheduledJob(clock, new Date('1969-07-20T20:17:40.001Z')),
      ];

      await jobs.enqueue(jobsAtTheEdge);

      for (const job of jobsAtTheEdge) assertSameJob(await jobs.getJob(job.id), job);
      const claims = await jobs.claim(claimBy('w1'));
      assertEqual(
        claims.map(({ priority }) => priority),
        [highest, lowest],
      );
    });

    fact('keep their milliseconds', async (world) => {
      const { jobs, clock } = world;
      for (const millisecond of [1, 3, 7, 997, 999]) {
        const nextFireTime = new Date(Date.UTC(2026, 5, 30, 23, 59, 59, millisecond));
        const id = `at ${millisecond}`;
        await jobs.upsertRecurring(aDefinition(clock, { id, nextFireTime }));

        assertEqual((await jobs.getRecurring(id))?.nextFireTime, nextFireTime);
        assert.equal(await jobs.tryFireRecurring(id, nextFireTime, LATEST_INSTANT, null), true);
        assertEqual((await jobs.getRecurring(id))?.nextFireTime, LATEST_INSTANT);
      }
    });
  });
}
