import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { sqliteStorage, type SqliteStorageOptions } from 'nestjs-millrace/sqlite';
import { JobState } from 'nestjs-millrace/storage';
import type { DataSource } from 'typeorm';
import { ChildNode } from '../../support/child-node';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { openSqlite } from '../../support/sqlite-connection';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';

@Injectable()
class ProgramJobs {
  readonly noted: string[] = [];

  @Job()
  async note(label: string): Promise<void> {
    this.noted.push(label);
  }
}

/** Settings of the connection itself, which no other connection can see. */
async function pragma(storage: object, name: string): Promise<unknown> {
  const { dataSource } = Reflect.get(storage, 'connection') as { dataSource: DataSource };
  const [row] = await dataSource.query<Record<string, unknown>[]>(`pragma ${name}`);
  return Object.values(row!)[0];
}

const SYNCHRONOUS = { normal: 1, full: 2 };

describe('a SQLite file', () => {
  describeOnStores(['sqlite'], (freshStore) => {
    const newFile = () => (freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>).database;
    const start = (options: SqliteStorageOptions) =>
      RunningNode.start({ store: sqliteStorage(options), providers: [ProgramJobs] });

    it.each([
      { options: {}, journal: 'wal', synchronous: SYNCHRONOUS.full },
      { options: { synchronous: 'normal' as const }, journal: 'wal', synchronous: SYNCHRONOUS.normal },
      { options: { useWriteAheadLog: false }, journal: 'delete', synchronous: SYNCHRONOUS.full },
    ])('is committed to as it was told to: $options', async ({ options, journal, synchronous }) => {
      const database = newFile();
      await using storage = await openStore(sqliteStorage({ database, ...options }));

      expect(await pragma(storage, 'journal_mode')).toBe(journal);
      expect(await pragma(storage, 'synchronous')).toBe(synchronous);
    });

    it.each([{}, { useWriteAheadLog: false }])('keeps jobs across a restart: %p', async (options) => {
      const database = newFile();
      const before = await start({ database, ...options });
      await before.jobs.pauseQueue('default');
      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, index) => before.jobs.enqueue(ProgramJobs, (jobs) => jobs.note(`job ${index}`))),
      );
      await before.close();

      await using after = await start({ database, ...options });
      await after.jobs.resumeQueue('default');
      await after.allEnded();

      expect(new Set(after.get(ProgramJobs).noted).size).toBe(50);
      expect((await after.everyJob()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    });

    it('that lacks a write-ahead log can have its commit held up by a reader: it is then written once more', async () => {
      const database = newFile();
      await using storage = await openStore(sqliteStorage({ database, useWriteAheadLog: false }));
      await using node = await RunningNode.start({
        store: sqliteStorage({ database, useWriteAheadLog: false }),
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [ProgramJobs],
      });
      using reader = openSqlite(database);
      reader.exec('begin');
      reader.prepare('select * from millrace_jobs').all();

      const enqueued = node.jobs.enqueue(ProgramJobs, (jobs) => jobs.note('held up'), { idempotencyKey: 'order 1' });
      const early = await Promise.race([enqueued, new Promise((resolve) => setTimeout(resolve, 200))]);
      reader.exec('commit');
      const id = await enqueued;

      expect(early).toBeUndefined();
      expect((await storage.monitoring.queryJobs({})).items.map((job) => job.id)).toEqual([id]);
    });

    it('can be the work of two processes, which write at the same time', async () => {
      const database = newFile();
      await using child = await ChildNode.start({ store: { kind: 'sqlite', database } });
      await using node = await start({ database });
      const labels = (of: string) => Array.from({ length: 200 }, (_, index) => `${of} ${index}`);

      await Promise.all([
        child.call('notes', labels('theirs')),
        ...labels('ours').map((label) => node.jobs.enqueue(ProgramJobs, (jobs) => jobs.note(label))),
      ]);
      await node.allEnded();

      // What the other process ran reaches this one a little after the store knows of it.
      const ran = () => [...child.labels('ran'), ...node.get(ProgramJobs).noted];
      await eventually(() => expect(ran().toSorted()).toEqual([...labels('theirs'), ...labels('ours')].toSorted()));
      expect(await node.countOf(JobState.Succeeded)).toBe(400);
      expect([child.uncaught, node.log.complaints()]).toEqual([[], []]);
      expect(child.output).not.toMatch(/WARN|ERROR/);
    });

    it('of memory lives as long as the application, and is nobody else’s', async () => {
      await using node = await start({ database: ':memory:' });
      await using other = await start({ database: ':memory:' });

      const id = await node.jobs.enqueue(ProgramJobs, (jobs) => jobs.note('in memory'));

      expect(await node.ended(id)).toMatchObject({ state: JobState.Succeeded });
      expect(await other.jobs.getJob(id)).toBeNull();
    });

    it('of the application holds its tables as well, in a transaction that both are part of', async () => {
      const database = newFile();
      await using node = await start({ database });
      using application = openSqlite(database);
      application.exec('create table orders (id integer)');
      const transaction = {
        query: async (sql: string, values: unknown[] = []) => {
          const statement = application.prepare(sql) as ReturnType<typeof application.prepare> & { reader: boolean };
          return statement.reader ? statement.all(...values) : statement.run(...values);
        },
      };

      application.exec('begin immediate');
      application.exec('insert into orders values (1)');
      const lost = await node.jobs.enqueue(ProgramJobs, (jobs) => jobs.note('lost'), { transaction });
      application.exec('rollback');
      application.exec('begin immediate');
      application.exec('insert into orders values (2)');
      const kept = await node.jobs.enqueue(ProgramJobs, (jobs) => jobs.note('kept'), { transaction });
      application.exec('commit');

      await node.ended(kept); // no signal tells of it: the next look finds it
      expect(await node.jobs.getJob(lost)).toBeNull();
      expect(application.prepare('select id from orders').all()).toEqual([{ id: 2 }]);
      await eventually(() => expect(node.get(ProgramJobs).noted).toEqual(['kept']));
    });
  });
});
