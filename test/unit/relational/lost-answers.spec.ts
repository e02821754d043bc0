import { FakeClock, HOUR, later, type NewInstance, type SignalDelivery } from '../../../lib/storage';
import { aDefinition, aJob } from '../../../lib/conformance/builders';
import { aBookmark, anInstance, aStep } from '../../../lib/conformance/workflow-builders';
import { getBookmarks, signal } from '../../../providers/relational/bookmarks';
import { createInstance } from '../../../providers/relational/create-instance';
import { getInstance } from '../../../providers/relational/get-instance';
import { getJob } from '../../../providers/relational/get-job';
import { queryJobs } from '../../../providers/relational/monitoring';
import type { Operation, Row } from '../../../providers/relational/operation';
import { getRecurring, tryFireRecurring, upsertRecurring } from '../../../providers/relational/recurring';
import { runSync } from '../../../providers/relational/runner';
import { migrate } from '../../../providers/relational/schema/migrator';
import { StatementCache, valuesOf } from '../../../providers/relational/statement';
import { sqliteDialect as dialect } from '../../../providers/sqlite/sqlite.dialect';
import type { SqliteHandle } from '../../../providers/sqlite/sqlite.handle';

const Database = require('better-sqlite3') as new (file: string) => SqliteHandle & { close(): void };

/** The commit took place and its answer was lost: the operation runs once more, and is told so. */
describe('an operation that runs again after a lost answer', () => {
  const clock = new FakeClock();
  const now = clock.now().getTime();
  let database: InstanceType<typeof Database>;
  let run: <T>(operation: Operation<T>) => T;

  beforeEach(() => {
    database = new Database(':memory:');
    const statements = new StatementCache(dialect);
    run = (operation) =>
      runSync(operation, (step) => {
        if (step.kind !== 'query') return [];
        const compiled = statements.get(step.statement);
        const prepared = database.prepare(compiled.sql);
        const values = valuesOf(compiled, step.values);
        if (prepared.reader) return prepared.all(...values) as Row[];
        prepared.run(...values);
        return [];
      });
    run(migrate(dialect, now));
  });

  afterEach(() => {
    database.close();
  });

  const jobs = () => run(queryJobs({})).items.map(({ id }) => id);

  describe('delivers a signal', () => {
    const instance = anInstance(clock);
    const waits = [aBookmark(clock, instance), aBookmark(clock, instance)];
    const { signalName: name, correlationId, tenantId } = waits[0]!;
    const delivery: SignalDelivery = { name, correlationId, tenantId, job: aJob(clock) };

    beforeEach(() => {
      run(createInstance(dialect, { instance, jobs: [], bookmarks: waits }, now, false));
    });

    it('once, though another wait matches', () => {
      run(signal(dialect, delivery, now, false));

      expect(run(signal(dialect, delivery, now, true))).toBe(true);

      expect(jobs()).toEqual([delivery.job.id]);
      expect(run(getBookmarks(instance.id))).toHaveLength(1);
    });

    it('where the first run did not take place', () => {
      expect(run(signal(dialect, delivery, now, true))).toBe(true);

      expect(run(getJob(delivery.job.id))?.instanceId).toBe(instance.id);
    });
  });

  describe('creates an instance', () => {
    const instance = anInstance(clock, { startKey: 'order-1' });
    const creation: NewInstance = {
      instance,
      jobs: [aStep(clock, instance)],
      bookmarks: [aBookmark(clock, instance)],
    };

    it('once, and answers its id', () => {
      run(createInstance(dialect, creation, now, false));

      expect(run(createInstance(dialect, creation, now, true))).toBe(instance.id);

      expect(jobs()).toHaveLength(1);
      expect(run(getBookmarks(instance.id))).toHaveLength(1);
    });

    it('where the first run did not take place', () => {
      expect(run(createInstance(dialect, creation, now, true))).toBe(instance.id);

      expect(run(getInstance(instance.id))?.revision).toBe(1);
      expect(jobs()).toHaveLength(1);
    });
  });

  describe('fires an occurrence', () => {
    const expected = clock.now();
    const definition = aDefinition(clock, { nextFireTime: expected });
    const occurrence = { id: definition.id, expected, next: later(expected, HOUR), now };

    beforeEach(() => {
      run(upsertRecurring(definition));
    });

    it('once, and answers that it has fired', () => {
      const job = aJob(clock);
      run(tryFireRecurring(dialect, { ...occurrence, job, again: false }));

      expect(run(tryFireRecurring(dialect, { ...occurrence, job, again: true }))).toBe(true);

      expect(jobs()).toEqual([job.id]);
    });

    it('not, where another node was faster', () => {
      const [theirs, mine] = [aJob(clock), aJob(clock)];
      run(tryFireRecurring(dialect, { ...occurrence, job: theirs, again: false }));

      expect(run(tryFireRecurring(dialect, { ...occurrence, job: mine, again: true }))).toBe(false);

      expect(jobs()).toEqual([theirs.id]);
    });

    it('or drops it, once', () => {
      run(tryFireRecurring(dialect, { ...occurrence, job: null, again: false }));

      expect(run(tryFireRecurring(dialect, { ...occurrence, job: null, again: true }))).toBe(true);

      expect(run(getRecurring(definition.id))?.nextFireTime).toEqual(occurrence.next);
    });
  });
});
