import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DataSource } from 'typeorm';

jest.setTimeout(90_000);

const main = join(__dirname, '..', '..', 'dist-sample', 'sample-app', 'main.js');
const root = mkdtempSync(join(tmpdir(), 'millrace-sample-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface JobView {
  readonly state: string;
  readonly attempt: number;
  readonly failures: number;
}

interface FulfilmentView {
  readonly state: string;
  readonly data: Record<string, unknown>;
}

/** The built sample as a process of its own, at a port of its own. */
class Sample implements AsyncDisposable {
  private log = '';

  /** All that were started, so that a failing test leaves none behind. */
  private static readonly started: ChildProcess[] = [];

  static killAll(): void {
    for (const child of Sample.started) child.kill('SIGKILL');
  }

  private constructor(
    private readonly child: ChildProcess,
    readonly folder: string,
  ) {
    Sample.started.push(child);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    }
  }

  static async start(directory: string, environment: NodeJS.ProcessEnv = {}): Promise<Sample> {
    const env = { ...process.env, PORT: '0', NO_COLOR: '1', ...environment };
    const sample = new Sample(spawn(process.execPath, [main], { cwd: directory, env }), directory);
    await sample.eventually('an address', () => sample.url);
    return sample;
  }

  get url(): string | undefined {
    const port = /Listening on http.*:(\d+)$/m.exec(this.log)?.[1];
    return port && `http://127.0.0.1:${port}`;
  }

  /** The text of everything that happened to orders. */
  get journal(): string {
    const file = join(this.folder, 'sample-orders.jsonl');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${this.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(202);
    return (await response.json()) as T;
  }

  async job(id: string): Promise<JobView> {
    return (await (await fetch(`${this.url}/jobs/${id}`)).json()) as JobView;
  }

  /** What has happened to an order, in the order of the alphabet: some of it happens concurrently. */
  eventsOf(orderId: string): string[] {
    const lines = this.journal.split('\n').filter((line) => line !== '');
    const entries = lines.map((line) => JSON.parse(line) as { orderId: string; event: string });
    return [...new Set(entries.filter((entry) => entry.orderId === orderId).map(({ event }) => event))].toSorted();
  }

  async decide(orderId: string, approved: boolean): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ approved });
    const response = await fetch(`${this.url}/orders/${orderId}/approval`, { method: 'POST', headers, body });
    expect(await response.json()).toEqual({ delivered: true });
  }

  async untilFulfilment(id: string, state: string): Promise<FulfilmentView> {
    return this.eventually(
      `fulfilment ${id} ${state}`,
      async () => {
        const fulfilment = (await (await fetch(`${this.url}/fulfilments/${id}`)).json()) as FulfilmentView;
        return fulfilment.state === state ? fulfilment : undefined;
      },
      30_000,
    );
  }

  async untilState(id: string, state: string): Promise<JobView> {
    return this.eventually(`job ${id} ${state}`, async () => {
      const job = await this.job(id);
      return job.state === state ? job : undefined;
    });
  }

  async kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    const gone = new Promise<number | NodeJS.Signals | null>((resolve) => {
      this.child.once('exit', (code, by) => resolve(by ?? code));
    });
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    else return this.child.signalCode ?? this.child.exitCode;
    return gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL');
  }

  private async eventually<T>(
    what: string,
    probe: () => T | undefined | Promise<T | undefined>,
    timeout = 40_000,
  ): Promise<T> {
    for (const giveUp = Date.now() + timeout; Date.now() < giveUp; await pause(50)) {
      const value = await probe();
      if (value !== undefined) return value;
      if (this.child.exitCode !== null) break;
    }
    throw new Error(`No ${what} within ${timeout} ms. The sample wrote:\n${this.log}`);
  }
}

const DATABASE = `sample_${process.pid}`;
const server = () => new DataSource({ type: 'postgres', url: process.env['MILLRACE_TEST_POSTGRES']! }).initialize();

/** The sample uses Millrace's default schema: a database of its own keeps it apart from other tests. */
async function ownDatabase(): Promise<string> {
  const postgres = await server();
  await postgres.query(`create database ${DATABASE}`);
  await postgres.destroy();
  const url = new URL(process.env['MILLRACE_TEST_POSTGRES']!);
  url.pathname = `/${DATABASE}`;
  return url.href;
}

afterAll(async () => {
  const postgres = await server();
  await postgres.query(`drop database if exists ${DATABASE} with (force)`);
  await postgres.destroy();
});

afterAll(() => Sample.killAll());

describe.each([
  ['SQLite', async () => ({ DATABASE_URL: '' })],
  ['PostgreSQL', async () => ({ DATABASE_URL: await ownDatabase() })],
])('The order service on %s', (name, environmentOf) => {
  const directory = mkdtempSync(join(root, `${name}-`));
  let environment: NodeJS.ProcessEnv;
  beforeAll(async () => (environment = await environmentOf()));

  it('confirms an order in its worker, and shows the job', async () => {
    await using sample = await Sample.start(directory, environment);

    const { jobId } = await sample.post<{ jobId: string }>('/orders/o-1/confirm');
    const again = await sample.post<{ jobId: string }>('/orders/o-1/confirm');
    const before = await sample.job(jobId);
    const after = await sample.untilState(jobId, 'Succeeded');

    expect(again.jobId).toBe(jobId); // pressed twice, one job
    expect(before.state).toMatch(/Enqueued|Processing/);
    expect(after).toMatchObject({ attempt: 1, failures: 0 });
    expect(sample.journal).toMatch(/"orderId":"o-1","event":"confirmed"/);
  });

  it('ships what has been charged, after the bank has failed once', async () => {
    await using sample = await Sample.start(directory, environment);

    const { jobIds } = await sample.post<{ jobIds: string[] }>('/orders/o-2/ship');
    await sample.untilState(jobIds[1]!, 'Succeeded');

    expect(await sample.job(jobIds[0]!)).toMatchObject({ state: 'Succeeded', attempt: 2, failures: 1 });
    expect(sample.journal).toMatch(/"o-2","event":"charged".*\n.*"o-2","event":"shipped"/);
  });

  it('fulfils an expensive order once it is approved, and undoes what it did for one that is refused', async () => {
    await using sample = await Sample.start(directory, environment);
    const decided = [true, false].map(async (approved) => {
      const order = `${approved ? 'approved' : 'refused'}-${name}`;
      const { instanceId } = await sample.post<{ instanceId: string }>(`/orders/${order}/fulfil`, { total: 1_200 });
      await sample.untilFulfilment(instanceId, 'Suspended');
      await sample.decide(order, approved);
      return { order, fulfilment: await sample.untilFulfilment(instanceId, approved ? 'Completed' : 'Compensated') };
    });

    const [approved, refused] = await Promise.all(decided);

    expect(approved?.fulfilment.data).toMatchObject({ approved: true, paymentId: expect.stringMatching(/^payment-/) });
    expect(refused?.fulfilment.data).toMatchObject({ approved: false, paymentId: null, parcelNumber: null });
    expect(sample.eventsOf(approved!.order)).toEqual(['packed', 'paid', 'reserved', 'reviewRequested']);
    expect(sample.eventsOf(refused!.order)).toEqual(['packed', 'paid', 'refunded', 'released', 'reserved', 'unpacked']);
  });

  it('answers 400 and the reason to what Millrace refuses', async () => {
    await using sample = await Sample.start(directory, environment);

    const response = await fetch(`${sample.url}/jobs/nonsense`);

    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('nonsense')]);
  });

  it('completes a job after a restart that followed a kill in its middle', async () => {
    const killed = await Sample.start(directory, environment);
    const { jobId } = await killed.post<{ jobId: string }>('/orders/o-3/confirm');
    await killed.untilState(jobId, 'Processing');
    await killed.kill('SIGKILL');
    expect(killed.journal).not.toContain('o-3');

    await using sample = await Sample.start(directory, environment);
    const job = await sample.untilState(jobId, 'Succeeded');

    expect(job).toMatchObject({ attempt: 2, failures: 0 });
    expect(sample.journal.match(/"o-3","event":"confirmed"/g)).toHaveLength(1);
  });

  it('lets a running job finish when it is asked to leave', async () => {
    const sample = await Sample.start(directory, environment);
    const { jobId } = await sample.post<{ jobId: string }>('/orders/o-4/confirm');
    await sample.untilState(jobId, 'Processing');

    await sample.kill('SIGTERM');

    expect(sample.journal).toMatch(/"o-4","event":"confirmed"/);
    await using next = await Sample.start(directory, environment);
    expect(await next.job(jobId)).toMatchObject({ state: 'Succeeded', attempt: 1 });
  });
});
