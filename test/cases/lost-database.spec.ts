import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { JobState, type Storage } from 'nestjs-millrace/storage';
import { EmbeddedPostgres } from '../support/embedded-postgres';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { PostgresSession } from '../support/postgres-session';
import { openStore, type StoreAddress } from '../support/stores';

@Injectable()
class Reports {
  @Job()
  async generate(): Promise<void> {}
}

const OURS = `application_name like 'millrace%'`;
const options = { leaseDuration: '3s', heartbeatInterval: '500ms' };

describe('a database that goes away', () => {
  const server = new EmbeddedPostgres();
  let store: StoreAddress;
  let node: ChildNode;

  beforeAll(async () => {
    store = { kind: 'postgres', url: await server.start(), schema: 'millrace' };
    node = await ChildNode.start({ store, options });
  });

  afterAll(async () => {
    await node.kill();
    server.stop();
  });

  const administrator = () => PostgresSession.open((store as { url: string }).url);
  const outageLines = (output: string) => output.split('\n').filter((line) => line.includes('The store failed'));

  async function runsANewJob(label: string): Promise<void> {
    await eventually(async () => node.call('note', label));
    await eventually(() => expect(node.labels('ran')).toContain(label));
  }

  function isUnharmed(): void {
    expect([node.hasEnded, node.uncaught]).toEqual([false, []]);
  }

  it('does not end an idle node whose sessions the server closes, and the next job runs', async () => {
    await using admin = await administrator();

    for (const round of [1, 2, 3]) {
      const ended = await admin.terminate(OURS);
      await runsANewJob(`idle ${round}`);

      expect(ended).toBeGreaterThan(0);
    }
    isUnharmed();
  });

  it('loses no job when sessions end in the middle of claims and completions', async () => {
    await using admin = await administrator();
    await using seen = await openStore(store);
    const labels = Array.from({ length: 1_500 }, (_, index) => `under fire ${index}`);
    await node.call('pauseQueue', 'default');
    const ids = await node.call('notes', labels);
    await node.call('resumeQueue', 'default');

    let ended = 0;
    await eventually(async () => {
      ended += await admin.terminate(`${OURS} and state <> 'idle' or ${OURS} and random() < 0.3`);
      expect(ended).toBeGreaterThan(5);
      expect(new Set(node.labels('ran')).size).toBeGreaterThan(labels.length / 2);
    });
    await allSucceeded(seen, ids);

    await eventually(() => expect(node.labels('ran')).toEqual(expect.arrayContaining(labels)));
    isUnharmed();
  });

  it('loses no job that finishes while the server is down, and goes on when it is back', async () => {
    const id = await node.call('wait', 'outage', 1_000);
    await eventually(() => expect(node.labels('started')).toContain('outage'));
    const linesBefore = outageLines(node.output).length;

    const downAt = performance.now();
    server.shutDown();
    await eventually(() => expect(node.labels('ran')).toContain('outage'));
    await eventually(() => expect(performance.now() - downAt).toBeGreaterThan(4_000));
    const lines = outageLines(node.output).length - linesBefore;
    const seconds = (performance.now() - downAt) / 1_000;
    server.startAgain();
    await runsANewJob('after the outage');
    await using seen = await openStore(store);
    await allSucceeded(seen, [id]);

    expect(lines).toBeGreaterThan(0);
    expect(lines).toBeLessThanOrEqual(seconds + 2);
    isUnharmed();
  });

  it('holds up a node that starts without it, which then works', async () => {
    server.shutDown();
    await using late = ChildNode.spawn({ store, options: { ...options, queues: ['late'] } });
    await eventually(() => expect(late.output).toContain('cannot be reached; trying'));
    const waited = !late.hasEnded;
    server.startAgain();
    await late.ready();
    await late.call('note', 'late', { queue: 'late' });
    await eventually(() => expect(late.labels('ran')).toEqual(['late']));

    expect(waited).toBe(true);
    expect(late.uncaught).toEqual([]);
  });

  it('fails the start with one clear error when it does not come', async () => {
    const nowhere: StoreAddress = {
      kind: 'postgres',
      url: 'postgres://postgres@127.0.0.1:1/postgres',
      schema: 'millrace',
    };

    const start = RunningNode.start({ store: nowhere, startupTimeout: '1s', providers: [Reports] });

    await expect(start).rejects.toMatchObject({
      code: 'MILLRACE_STORAGE_UNAVAILABLE',
      message: expect.stringMatching(/postgres store could not be opened within 1 s.*ECONNREFUSED/),
    });
  });
});

async function allSucceeded({ jobs }: Storage, ids: readonly string[]): Promise<void> {
  await eventually(async () => {
    for (const id of ids) expect((await jobs.getJob(id))?.state).toBe(JobState.Succeeded);
  });
}
