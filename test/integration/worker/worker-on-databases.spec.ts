import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { IJobClient, Job, JobBatch, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { sqliteStorage } from 'nestjs-millrace/sqlite';
import type { StorageRegistration } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { Application, eventually, Gate } from '../../unit/worker/an-application';

/** A database of its own, since a test ends all sessions in it. */
const DATABASE = 'worker_spec';
const SERVER = process.env['MILLRACE_TEST_POSTGRES']!;
const POSTGRES = Object.assign(new URL(SERVER), { pathname: `/${DATABASE}` }).href;
const SCHEMA = 'millrace';
const folder = mkdtempSync(join(tmpdir(), 'millrace-worker-'));
const server = new DataSource({ type: 'postgres', url: SERVER, poolSize: 1 });
/** A session of the application's own. */
const admin = new DataSource({ type: 'postgres', url: POSTGRES, poolSize: 1 });

jest.setTimeout(60_000);

beforeAll(async () => {
  await server.initialize();
  await server.query(`drop database if exists ${DATABASE} with (force)`);
  await server.query(`create database ${DATABASE}`);
  await admin.initialize();
});

afterEach(async () => {
  await Application.closeAll();
  await admin.query(`drop schema if exists ${SCHEMA} cascade`);
});

afterAll(async () => {
  await admin.destroy();
  await server.query(`drop database ${DATABASE} with (force)`);
  await server.destroy();
  rmSync(folder, { recursive: true });
});

@Injectable()
class Work {
  readonly ran: string[] = [];
  readonly aborted: string[] = [];
  readonly gate = new Gate();

  constructor(private readonly jobs: IJobClient) {}

  @Job({ retry: Retry.none })
  async note(name: string): Promise<void> {
    this.ran.push(name);
  }

  @Job({ retry: Retry.none })
  async withFollowUps(name: string, @JobCtx() context?: JobContext): Promise<void> {
    this.ran.push(name);
    context?.enqueueOnSuccess(Work, (w) => w.note(`${name} plain`));
    context?.enqueueOnSuccess(Work, (w) => w.note(`${name} keyed`), { idempotencyKey: name });
  }

  @Job({ retry: Retry.none })
  async enqueueing(name: string): Promise<void> {
    await this.jobs.enqueue(Work, (w) => w.note(`${name} more`));
    this.ran.push(name);
  }

  @Job({ retry: Retry.fixed(0, 2) })
  async failingOnce(name: string, @JobCtx() context?: JobContext): Promise<void> {
    this.ran.push(`${name} attempt ${context?.attempt}`);
    if (context?.attempt === 1) throw new Error('not yet');
  }

  @Job({ retry: Retry.none })
  async untilOpened(@JobCtx() context?: JobContext): Promise<void> {
    this.ran.push('started');
    context?.signal.addEventListener('abort', () => this.aborted.push(String(context.signal.reason)));
    await this.gate.opened;
  }
}

function start(storage: StorageRegistration, options = {}): Promise<Application> {
  return Application.start({ providers: [Work] }, { storage, ...options });
}

function ranOn(...nodes: Application[]): string[] {
  return nodes.flatMap((node) => node.context.get(Work).ran);
}

async function allRan(count: number, ...nodes: Application[]): Promise<string[]> {
  return eventually(() => {
    const ran = ranOn(...nodes);
    return ran.length >= count ? ran : undefined;
  }, 30_000);
}

function postgres(poolSize = 10): StorageRegistration {
  return postgresStorage({ url: POSTGRES, schema: SCHEMA, poolSize });
}

let files = 0;
const stores: [string, (poolSize?: number) => StorageRegistration][] = [
  ['sqlite', () => sqliteStorage({ database: join(folder, `${++files}.db`) })],
  ['postgres', postgres],
];

describe.each(stores)('Workers on %s', (name, storage) => {
  it('run every job once on two nodes, with what each brings about', async () => {
    const shared = storage();
    const nodes = [await start(shared), await start(name === 'sqlite' ? shared : storage())];
    const batch = new JobBatch();
    for (let job = 0; job < 100; job++) {
      batch.enqueue(Work, (w) => w.withFollowUps(`f${job}`));
      batch.continueWith(batch.size - 1, Work, (w) => w.note(`f${job} continued`));
      batch.enqueue(Work, (w) => w.failingOnce(`x${job}`));
    }

    await nodes[0]!.jobs.enqueueBatch(batch);
    const ran = await allRan(600, ...nodes);
    await Promise.all(nodes.map((node) => node.close()));

    expect(ranOn(...nodes)).toHaveLength(600);
    expect(new Set(ran).size).toBe(600);
  });

  it('need no more than one connection in the pool, whatever handlers and callers do meanwhile', async () => {
    const app = await start(storage(1), { maxParallelism: 10 });

    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let job = 0; job < 10; job++) await app.jobs.enqueue(Work, (w) => w.enqueueing(`${caller}/${job}`));
    });
    await Promise.all(callers);
    const ran = await allRan(400, app);

    expect(new Set(ran).size).toBe(400);
  });

  it('hear of a cancellation at once', async () => {
    const app = await start(storage(), { heartbeatInterval: 60_000 });
    const id = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    const work = app.context.get(Work);
    await eventually(() => work.ran[0]);

    await app.jobs.cancel(id);
    await app.job(id, 'Cancelled');

    expect(work.aborted).toEqual([expect.stringContaining('cancelled')]);
    work.gate.open();
  });
});

async function endSessions(): Promise<void> {
  await admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
}

describe('Workers on postgres', () => {
  it('survive that the server ends all their sessions, idle or at work', async () => {
    const stray: unknown[] = [];
    const note = (error: unknown): void => void stray.push(error);
    process.on('unhandledRejection', note).on('uncaughtException', note);
    const app = await start(postgres(), { heartbeatInterval: 20 });
    await endSessions();
    const batch = new JobBatch();
    for (let job = 0; job < 2000; job++) batch.enqueue(Work, (w) => w.note(`job ${job}`));
    const ids = await eventually(() => app.jobs.enqueueBatch(batch).catch(() => undefined));

    for (let round = 0; round < 5; round++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await endSessions();
    }
    await eventually(async () => {
      const unfinished = await admin.query<unknown[]>(
        `select id from ${SCHEMA}.jobs where finished_at is null limit 1`,
      );
      return unfinished.length === 0 || undefined;
    });
    process.off('unhandledRejection', note).off('uncaughtException', note);

    expect((await app.storage.getJob(ids[0]!))?.state).toBe('Succeeded');
    expect(stray).toEqual([]);
  });

  it("go on beside a row that the application's transaction holds, and end that job when it is free", async () => {
    const app = await start(postgres());
    const work = app.context.get(Work);
    const held = await app.jobs.enqueue(Work, (w) => w.untilOpened());
    await eventually(() => work.ran[0]);
    await admin.query('begin');
    await admin.query(`select id from ${SCHEMA}.jobs where id = $1 for update`, [held]);

    work.gate.open();
    const others = await Promise.all([1, 2, 3].map((job) => app.jobs.enqueue(Work, (w) => w.note(`job ${job}`))));
    for (const id of others) await app.job(id, 'Succeeded');
    const meanwhile = await app.storage.getJob(held);
    await admin.query('rollback');
    const job = await app.job(held, 'Succeeded');

    expect(meanwhile?.state).toBe('Processing');
    expect(job).toMatchObject({ attempt: 1, failures: 0 });
  });
});
