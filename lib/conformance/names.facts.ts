import assert from 'node:assert/strict';
import { aDefinition, aJob, claimBy, succeeded } from './builders';
import { assertEqual } from './expectations';
import { idsOf } from './pages';
import { applyOne, claimed, started, storedDefinition, storedJob } from './steps';
import type { FactSuite } from './world';
import { aBookmark, anInstance, aSignal } from './workflow-builders';

/** No two of these are equal by code unit; databases and languages hold some of them for the same. */
const ALIKE = [
  'key',
  'Key',
  'KEY',
  'key ',
  ' key',
  'k\u00e9y', // é in one
  'ke\u0301y', // é in two
  'k\u00c9y',
  'key\u200b',
  '\uff4b\uff45\uff59', // full width
  'stra\u00dfe',
  'strasse',
  '\u0131',
  'i',
  'I',
  '\u0130',
  '\u{1f600}',
  '\u{1f601}',
] as const;

/** Text that means something to a database, or to what stands between it and us. */
const HOSTILE = [
  `'; drop table jobs; --`,
  `"quoted"`,
  'back\\slash',
  '%',
  '_',
  '[a-z]',
  '$1',
  '?',
  ':name',
  '::jsonb',
  '@p0',
  '{}',
  '[]',
  'null',
  'true',
  '1e3',
  '0042',
  '__proto__',
  'constructor',
] as const;

const NAMES = [...ALIKE, ...HOSTILE];

/** Names and keys compare exactly, by code unit, on every store. */
export function nameFacts({ describe, fact }: FactSuite): void {
  describe('names and keys', () => {
    fact('as idempotency keys are what they are to the last code unit', async ({ jobs, clock }) => {
      const first = NAMES.map((idempotencyKey) => aJob(clock, { idempotencyKey }));
      const second = NAMES.map((idempotencyKey) => aJob(clock, { idempotencyKey }));

      assertEqual(await jobs.enqueue(first), idsOf(first));
      assertEqual(await jobs.enqueue(second), idsOf(first));
    });

    fact('as tenants', async ({ jobs, monitoring, clock }) => {
      const tenants = [null, '', ...NAMES];
      const make = () => tenants.map((tenantId) => aJob(clock, { idempotencyKey: 'K', tenantId }));
      const first = make();

      assertEqual(await jobs.enqueue(first), idsOf(first));
      assertEqual(await jobs.enqueue(make()), idsOf(first));
      for (const [n, tenantId] of tenants.entries()) {
        assertEqual(idsOf((await monitoring.queryJobs({ tenantId })).items), idsOf(first.slice(n, n + 1)));
      }
    });

    fact('as queues', async ({ jobs, monitoring, clock }) => {
      const all = NAMES.map((queue) => aJob(clock, { queue }));
      await jobs.enqueue(all);

      for (const job of all) {
        assertEqual(idsOf((await monitoring.queryJobs({ queue: job.queue })).items), [job.id]);
        assertEqual(idsOf(await jobs.claim(claimBy('w1', { queues: [job.queue] }))), [job.id]);
      }
    });

    fact('as paused queues', async ({ jobs, clock }) => {
      const all = ALIKE.map((queue) => aJob(clock, { queue }));
      await jobs.enqueue(all);
      await jobs.setQueuePaused('key', true);

      const claims = await jobs.claim(claimBy('w1', { queues: ALIKE, limit: 100 }));

      assertEqual(claims.map(({ queue }) => queue).toSorted(), ALIKE.filter((name) => name !== 'key').toSorted());
    });

    fact('as handlers and recurring ids on jobs', async ({ jobs, monitoring, clock }) => {
      const all = NAMES.map((name) => aJob(clock, { handler: name, recurringId: name }));
      await jobs.enqueue(all);

      for (const { id, handler } of all) {
        assertEqual(idsOf((await monitoring.queryJobs({ handler })).items), [id]);
        assertEqual(idsOf((await monitoring.queryJobs({ recurringId: handler })).items), [id]);
      }
    });

    fact('as recurring ids', async (world) => {
      const { jobs, clock } = world;
      for (const [priority, id] of NAMES.entries()) await jobs.upsertRecurring(aDefinition(clock, { id, priority }));

      for (const [priority, id] of NAMES.entries()) {
        assert.equal((await storedDefinition(world, id)).priority, priority);
      }
      await jobs.removeRecurring('key');
      assert.equal((await world.monitoring.queryRecurring({})).items.length, NAMES.length - 1);
    });

    fact('as signal names and correlation ids', async (world) => {
      const { workflows, clock } = world;
      await started(world, {}, (made) => ({
        bookmarks: NAMES.flatMap((name) => [
          aBookmark(clock, made, { signalName: name, scope: `signal ${name}/` }),
          aBookmark(clock, made, { correlationId: name, scope: `key ${name}/` }),
        ]),
      }));

      for (const name of NAMES) {
        for (const [kind, delivery] of [
          ['signal', aSignal(clock, { name })],
          ['key', aSignal(clock, { correlationId: name })],
        ] as const) {
          assert.equal(await workflows.signal(delivery), true, name);
          assert.equal((await storedJob(world, delivery.job.id)).scope, `${kind} ${name}/`);
        }
      }
    });

    fact('as start keys and workflow ids', async (world) => {
      const byKey = [];
      const byDefinition = [];
      for (const name of NAMES) {
        byKey.push(await started(world, { startKey: name }));
        byDefinition.push(await started(world, { startKey: 'K', definitionId: name }));
      }

      for (const { id, startKey, definitionId } of [...byKey, ...byDefinition]) {
        const instance = anInstance(world.clock, { startKey, definitionId });
        assert.equal(await world.workflows.createInstance({ instance, jobs: [], bookmarks: [] }), id);
      }
      for (const { id, definitionId } of byDefinition) {
        assertEqual(idsOf((await world.monitoring.queryInstances({ definitionId })).items), [id]);
      }
    });

    fact('as workers', async (world) => {
      const { jobs } = world;
      const job = await claimed(world, {}, 'key');

      for (const workerId of ALIKE.slice(1)) {
        assertEqual(await jobs.renew(workerId, [job], 1000), { answers: ['lost'], unlisted: [] });
        assertEqual(await applyOne(jobs, succeeded({ ...job, workerId })), { outcome: 'fenced' });
      }
    });
  });
}
