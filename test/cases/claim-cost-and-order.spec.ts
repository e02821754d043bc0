import { Injectable } from '@nestjs/common';
import { Job, type JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { postgresStorage } from 'nestjs-millrace/postgres';
import {
  type ClaimedJob,
  type ClaimRequest,
  JobState,
  type JobTransition,
  later,
  MINUTE,
  newId,
  newJob,
  type Storage,
} from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { postgresDialect } from '../../providers/postgres/postgres.dialect';
import { sqliteDialect } from '../../providers/sqlite/sqlite.dialect';
import { activateDueStatements } from '../../providers/relational/activate-due';
import { claimStatements } from '../../providers/relational/claim';
import { compileStatement, type Statement } from '../../providers/relational/statement';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { PostgresSession, postgresUrl } from '../support/postgres-session';
import { openSqlite } from '../support/sqlite-connection';
import { describeOnStores, openStore, type StoreAddress } from '../support/stores';

const QUEUES = ['mail', 'payments'];
const HISTORY = { finished: 200_000, scheduled: 50_000 };
const READY = 5_000;
const YEAR = 365 * 24 * 60 * MINUTE;

const claimOf = (fields: Partial<ClaimRequest> = {}): ClaimRequest => ({
  workerId: 'worker',
  queues: QUEUES,
  limit: 10,
  leaseDuration: 5 * MINUTE,
  maxPayload: 16 * 2 ** 20,
  expired: false,
  suspects: false,
  ...fields,
});

const STORED =
  'id, created_at, ready_at, due_at, finished_at, state, queue, handler, args, retry_kind, retry_max_attempts, retry_base_delay, retry_max_delay';

/** What a store holds after months: far more that is over, or far away, than what is to be done. */
const history = (prefix: string, id: string, series: (count: number) => string, now: number): string[] => [
  `insert into ${prefix}jobs (${STORED})
   select ${id}, ${now - YEAR} + n, ${now - YEAR} + n, null, ${now - YEAR} + n, case when n % 20 = 0 then 5 else 3 end,
     case when n % 2 = 0 then 'mail' else 'payments' end, 'Mailer.send', '[]', 0, 1, 0, 0 from ${series(HISTORY.finished)}`,
  `insert into ${prefix}jobs (${STORED})
   select ${id}, ${now}, null, ${now + YEAR} + n, null, 0,
     case when n % 2 = 0 then 'mail' else 'payments' end, 'Mailer.send', '[]', 0, 1, 0, 0 from ${series(HISTORY.scheduled)}`,
];

/** Jobs in two queues with priorities 0, 5 and 10, in an order that is none of any index. */
function readyJobs(now: Date) {
  return Array.from({ length: READY }, (_, index) => {
    const createdAt = later(now, (index * 7919) % READY);
    return newJob({
      id: newId(createdAt),
      createdAt,
      queue: QUEUES[index % 2]!,
      priority: [0, 5, 10][index % 3]!,
      handler: 'Mailer.send',
      args: '[]',
      retry: Retry.none,
    });
  });
}

const inOrder = (jobs: readonly ClaimedJob[]) =>
  jobs.toSorted((a, b) => b.priority - a.priority || Number(a.readyAt) - Number(b.readyAt) || (a.id < b.id ? -1 : 1));

/** Claims and acknowledges until nothing is left. */
async function drain({ jobs }: Storage, batch: number): Promise<ClaimedJob[]> {
  const drained: ClaimedJob[] = [];
  for (;;) {
    const claimed = await jobs.claim(claimOf({ limit: batch }));
    if (claimed.length === 0) return drained;
    await jobs.apply(claimed.map((job) => succeeded(job)));
    drained.push(...claimed);
  }
}

function succeeded({ id, attempt, failures }: ClaimedJob): JobTransition {
  const unchanged = { dueAt: null, error: null, history: null, enqueue: [], instanceId: null, advance: null };
  return { id, attempt, failures, workerId: 'worker', target: 'Succeeded', ...unchanged };
}

describe('claims beside a long history', () => {
  describeOnStores(['postgres'], (freshStore) => {
    it.each(['a pool of its own', "the application's data source"])(
      'walk no table, also where they were prepared on an empty one, and come in order: through %s',
      async (through) => {
        const store = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
        await using database = await PostgresSession.open();
        const prefix = `"${store.schema}".`;
        const dataSource = new DataSource({ type: 'postgres', url: store.url, poolSize: 1 });
        const storage = through.startsWith('a pool')
          ? await openStore(store, { poolSize: 1 })
          : await openStore(postgresStorage({ dataSource: await dataSource.initialize(), schema: store.schema }));
        // Six times: from then on a prepared statement may keep its plan, made for a table that was empty.
        for (let count = 0; count < 6; count++) {
          await storage.jobs.claim(claimOf());
          await storage.jobs.claim(claimOf({ queues: ['mail'], expired: true, suspects: true }));
          await storage.jobs.activateDue(100);
          await storage.jobs.probe({ queues: QUEUES, retention: KEEP_EVERYTHING });
          await storage.jobs.hasClaimable(QUEUES);
        }
        const now = new Date();
        const series = (count: number) => `generate_series(1, ${count}) as n`;
        for (const sql of history(prefix, 'gen_random_uuid()', series, now.getTime())) await database.query(sql);
        const ready = readyJobs(now);
        for (let from = 0; from < READY; from += 1_000) await storage.jobs.enqueue(ready.slice(from, from + 1_000));
        // Sessions of the application keep its settings, and plan anew when the server has looked at the table, as it does by
        // itself within a minute or so. Millrace's own need no such help.
        if (dataSource.isInitialized) await database.query(`analyze ${prefix}jobs`);
        const before = await walks(database, store.schema);

        const claimed: ClaimedJob[] = [];
        for (let count = 0; count < 100; count++) {
          claimed.push(...(await storage.jobs.claim(claimOf())));
          await storage.jobs.probe({ queues: QUEUES, retention: KEEP_EVERYTHING });
          await storage.jobs.hasClaimable(QUEUES);
        }
        await storage.jobs.claim(claimOf({ expired: true, suspects: true }));
        await storage.jobs.activateDue(100);
        // What a session has counted is certain to be seen when it has ended.
        await storage.close();
        if (dataSource.isInitialized) await dataSource.destroy();
        const after = await eventually(async () => {
          const counted = await walks(database, store.schema);
          expect(counted.updates).toBeGreaterThan(before.updates);
          return counted;
        });
        await database.query(`analyze ${prefix}jobs`);
        const plans = [
          await plan(database, store, claimStatements.readyOfQueue),
          await plan(database, store, claimStatements.readyOfQueues),
        ];

        expect(claimed).toHaveLength(1_000);
        expect(claimed).toEqual(inOrder(claimed));
        expect(claimed.every(({ priority }) => priority === 10)).toBe(true);
        expect(after.tables - before.tables).toBe(0);
        // A fresh session, and a planner that knows the table, read a few pages as well.
        for (const { text, pages } of plans) {
          expect(text).not.toMatch(/"Seq Scan"[^{}]*"Relation Name":"jobs"/);
          expect(pages).toBeLessThan(500);
        }
      },
    );

    it('do not make the indexes of open jobs grow with the jobs that pass through', async () => {
      // In a database of its own: a transaction that is open beside it would keep vacuum from its work.
      await using administrator = await PostgresSession.open();
      const name = (freshStore() as Extract<StoreAddress, { kind: 'postgres' }>).schema;
      await administrator.query(`create database ${name}`);
      const url = new URL(postgresUrl());
      url.pathname = `/${name}`;
      const sizes: number[] = [];
      {
        await using storage = await openStore({ kind: 'postgres', url: url.href, schema: 'millrace' });
        await using database = await PostgresSession.open(url.href);

        for (let round = 0; round < 6; round++) {
          await storage.jobs.enqueue(readyJobs(new Date()).slice(0, 1_500));
          await drain(storage, 500);
          await database.query('vacuum millrace.jobs');
          const [row] = await database.query<{ size: number }>(
            `select sum(pg_relation_size(format('%I.%I', schemaname, indexname)::regclass))::int as size from pg_indexes
             where schemaname = 'millrace' and indexname in ('ix_jobs_ready', 'ix_jobs_lease', 'ix_jobs_due')`,
          );
          sizes.push(row!.size);
        }
      }
      await administrator.query(`drop database ${name}`);

      expect(sizes.at(-1)).toBeLessThanOrEqual(1.2 * sizes[1]!);
    });
  });

  describeOnStores(['sqlite'], (freshStore) => {
    it('walk no table, and come in order', async () => {
      const store = freshStore() as Extract<StoreAddress, { kind: 'sqlite' }>;
      await using storage = await openStore(store);
      using file = openSqlite(store.database);
      const now = new Date();
      const series = (count: number) =>
        `(with recursive s(n) as (select 1 union all select n + 1 from s where n < ${count}) select n from s)`;
      for (const sql of history('millrace_', 'lower(hex(randomblob(16)))', series, now.getTime())) file.exec(sql);
      await storage.jobs.enqueue(readyJobs(now));

      const claimed: ClaimedJob[] = [];
      for (let count = 0; count < 100; count++) claimed.push(...(await storage.jobs.claim(claimOf())));
      const plans = [...Object.values(claimStatements), ...Object.values(activateDueStatements)].flatMap(
        (statement: Statement) => {
          const { sql, parameters } = compileStatement(statement, sqliteDialect);
          const steps = file.prepare(`explain query plan ${sql}`).all(...parameters.map(() => null));
          return steps.map(({ detail }) => String(detail));
        },
      );

      expect(claimed).toHaveLength(1_000);
      expect(claimed).toEqual(inOrder(claimed));
      expect(plans.filter((step) => /^SCAN (millrace_)?(jobs|j|k|c)\b/.test(step) && !step.includes('USING'))).toEqual(
        [],
      );
      expect(plans.join('\n')).toContain('millrace_ix_jobs_ready');
    });
  });
});

@Injectable()
class Mailer {
  readonly ran: string[] = [];

  @Job()
  async send(label: string): Promise<void> {
    this.ran.push(label);
  }

  @Job({ retry: Retry.fixed(1, 1_000) })
  async fail(@JobCtx() ctx?: JobContext): Promise<void> {
    this.ran.push(`failure ${ctx!.failures + 1}`);
    throw new Error('As always');
  }
}

describe('jobs of one worker', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (store: StoreAddress, options: object) =>
      RunningNode.start({ store, queues: QUEUES, maxParallelism: 1, providers: [Mailer], ...options });

    it.each([[QUEUES], [['mail']]])(
      'run by priority over %j, and in the order of their enqueueing within one',
      async (queues) => {
        const store = freshStore();
        await using producer = await start(store, { workerEnabled: false, schedulerEnabled: false });
        const expected: string[][] = [[], [], []];
        for (let index = 0; index < 60; index++) {
          const level = (index * 7) % 3;
          const label = `level ${level}, job ${index}`;
          const options = { queue: queues[index % queues.length]!, priority: [10, 5, 0][level]! };
          await producer.jobs.enqueue(Mailer, (mailer) => mailer.send(label), options);
          expected[level]!.push(label);
        }

        await using worker = await start(store, { queues });
        await worker.allEnded();

        expect(worker.get(Mailer).ran).toEqual(expected.flat());
      },
    );

    it('are not starved by one that fails at once, again and again', async () => {
      const store = freshStore();
      await using producer = await start(store, { workerEnabled: false, schedulerEnabled: false });
      const labels = Array.from({ length: 500 }, (_, index) => `job ${index}`);
      await producer.jobs.enqueue(Mailer, (mailer) => mailer.fail(), { queue: 'mail' });
      for (const label of labels)
        await producer.jobs.enqueue(Mailer, (mailer) => mailer.send(label), { queue: 'mail' });

      await using worker = await start(store, {});
      await eventually(() => expect(worker.get(Mailer).ran).toEqual(expect.arrayContaining(['job 499', 'failure 2'])));

      const { ran } = worker.get(Mailer);
      // Its second attempt became claimable after all the others had: it goes to the end of the line.
      expect(ran.slice(0, 501)).toEqual(['failure 1', ...labels]);
      expect(await worker.countOf(JobState.Dead)).toBe(0);
    });
  });
});

const KEEP_EVERYTHING = {
  succeeded: null,
  cancelled: null,
  dead: null,
  completedInstances: null,
  failedInstances: null,
};

/** How often the table of jobs was walked from end to end, and rows updated, as the server counts. */
async function walks(database: PostgresSession, schema: string): Promise<{ tables: number; updates: number }> {
  const [row] = await database.query<{ tables: number; updates: number }>(
    `select seq_scan::int as tables, n_tup_upd::int as updates from pg_stat_user_tables where schemaname = $1 and relname = 'jobs'`,
    [schema],
  );
  return row!;
}

/** How the server carries a statement out, and how many pages of any table and index it touches. */
async function plan(
  database: PostgresSession,
  { schema }: Extract<StoreAddress, { kind: 'postgres' }>,
  statement: Statement,
): Promise<{ text: string; pages: number }> {
  const { sql, parameters } = compileStatement(statement, postgresDialect(schema));
  const values: Record<string, unknown> = {
    workerId: 'worker',
    leaseUntil: Date.now(),
    maxPayload: 2 ** 24,
    limit: 20,
    queue: 'mail',
    queues: JSON.stringify(QUEUES),
  };
  await database.query('begin');
  const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, unknown> }] }>(
    `explain (analyze, buffers, format json) ${sql}`,
    parameters.map((name) => values[name]),
  );
  await database.query('rollback');
  const { Plan } = row!['QUERY PLAN'][0];
  return {
    text: JSON.stringify(Plan),
    pages: Number(Plan['Shared Hit Blocks']) + Number(Plan['Shared Read Blocks']),
  };
}
