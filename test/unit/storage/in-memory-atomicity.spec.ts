import { array, assert, integer, property } from 'fast-check';
import { isTerminal, JobState } from 'nestjs-millrace/storage';
import type { Tables } from '../../../lib/storage/in-memory/tables';
import { dump, Twins } from './in-memory-twins';

const rolls = array(integer({ min: 0, max: 9_999 }), { minLength: 100, maxLength: 600, size: 'max' });

function isDue(state: JobState): boolean {
  return state === JobState.Scheduled || state === JobState.Failed;
}

/** Every index holds what the rows say, and nothing else. */
function expectIndexed(tables: Tables): void {
  const all = [...tables.jobs.all()];
  const where = (test: (state: JobState) => boolean): typeof all => all.filter(({ record }) => test(record.state));
  for (const job of all) {
    const { id, state, parentId, instanceId, idempotencyKey } = job.record;
    const isOpen = !isTerminal(state);
    const isIndexed =
      (idempotencyKey === null || !isOpen || tables.jobs.holderOf(job.record) === id) &&
      (state !== JobState.Awaiting || tables.jobs.awaitingOn(parentId ?? '').has(job)) &&
      (instanceId === null || tables.jobs.ofInstance(instanceId).has(job)) &&
      (instanceId === null || tables.jobs.openOfInstance(instanceId).has(job) === isOpen) &&
      ((state !== JobState.Enqueued && state !== JobState.Processing) || job.heap !== null);
    if (!isIndexed) throw new Error(`Job ${id} is ${state} and not indexed so.`);
  }
  const processing = where((state) => state === JobState.Processing);
  const owners = [...new Set(processing.map(({ record }) => record.workerId ?? ''))];
  const evictable = where(isTerminal).filter(
    ({ record }) =>
      record.instanceId === null &&
      (record.recurringId === null || tables.jobs.newestOccurrence(record.recurringId)?.id !== record.id),
  );
  const ended = [...tables.instances.all()].filter(
    ({ record }) => record.finishedAt && tables.jobs.openOfInstance(record.id).size === 0,
  );
  expect(tables.jobs.due.size).toBe(where(isDue).length);
  expect(owners.reduce((sum, owner) => sum + tables.jobs.ownedBy(owner).size, 0)).toBe(processing.length);
  expect(tables.jobs.finishedSize).toBe(evictable.length);
  expect(tables.instances.finishedSize).toBe(ended.length);
}

describe('an operation of the in-memory storage', () => {
  it('leaves no trace when it fails, nor does a transition that is rejected beside others', () => {
    let failures = 0;

    assert(
      property(rolls, (drawn) => {
        const twins = new Twins(drawn);
        while (!twins.isOver) {
          twins.step();
          expect(dump(twins.store)).toBe(dump(twins.twin));
          expect(twins.outlook(twins.store)).toEqual(twins.outlook(twins.twin));
          expectIndexed(twins.store);
        }
        failures += twins.failures;
      }),
      { numRuns: 100 },
    );

    expect(failures).toBeGreaterThan(100);
  });
});
