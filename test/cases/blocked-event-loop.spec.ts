import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { JobState, type Storage } from 'nestjs-millrace/storage';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { describeOnStores, openStore } from '../support/stores';

const heartbeatInterval = 300;

describe('a handler that blocks the event loop', () => {
  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    let folder: string;
    let nodes: ChildNode[] = [];
    let seen: Storage & AsyncDisposable;

    beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'millrace-spin-'))));
    afterAll(() => rmSync(folder, { recursive: true }));

    afterEach(async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      await seen[Symbol.asyncDispose]();
    });

    async function startTwo(leaseDuration: string): Promise<void> {
      const store = freshStore();
      seen = await openStore(store);
      nodes = [0, 1].map(() => ChildNode.spawn({ store, options: { leaseDuration, heartbeatInterval } }));
      await Promise.all(nodes.map((node) => node.ready()));
    }

    const labels = (name: string) => nodes.flatMap((node) => node.labels(name));

    /** Resolves once a node has begun an attempt of the job with this label, and answers which. */
    const nodeThatBegins = (label: string, attempt: number) =>
      eventually(() => {
        const begun = (node: ChildNode) =>
          node.events.some((event) => event.name === 'started' && event.label === label && event.attempt === attempt);
        const node = nodes.find(begun);
        if (node === undefined) throw new Error(`No node has begun attempt ${attempt} of ${label}.`);
        return node;
      });

    it('for longer than its lease, loses the job to another node, which alone ends it; both work on', async () => {
      await startTwo('3s');
      const unblocked = join(folder, 'parent');
      const parent = await nodes[0]!.call('spin', 'parent', unblocked);
      const blocked = await nodeThatBegins('parent', 1);
      const other = nodes.find((node) => node !== blocked)!;
      const child = await other.call('continueWith', parent, 'child');

      const successor = await nodeThatBegins('parent', 2);
      writeFileSync(unblocked, '');
      await eventually(() => {
        expect(labels('aborted')).toEqual(['parent']);
        expect(labels('ran')).toEqual(['child']);
      });
      await eventually(() => expect(blocked.output).toMatch(/blocked for \d+\.\d s.*ProgramJobs\.spin \(/));
      const after = Array.from({ length: 20 }, (_, index) => `after ${index}`);
      await blocked.call('notes', after);
      await eventually(() => expect(labels('ran').toSorted()).toEqual([...after, 'child'].toSorted()));

      expect(successor).toBe(other);
      const details = await seen.monitoring.getJobDetails(parent);
      expect(details).toMatchObject({ state: JobState.Succeeded, attempt: 2, interruptions: 1, failures: 0 });
      expect(details!.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([[1, 'Interrupted']]);
      expect(await seen.jobs.getJob(child)).toMatchObject({ state: JobState.Succeeded, attempt: 1 });
      expect(nodes.map(({ hasEnded, uncaught }) => [hasEnded, uncaught])).toEqual([
        [false, []],
        [false, []],
      ]);
    });

    it('for less than its lease, runs once', async () => {
      await startTwo('60s'); // no stall comes near it: the handler spins for 25 s at the most
      const unblocked = join(folder, 'short');
      const id = await nodes[0]!.call('spin', 'short', unblocked);
      await nodeThatBegins('short', 1);
      const leaseUntil = async () => (await seen.jobs.getJob(id))!.leaseUntil?.getTime();

      await pause(4 * heartbeatInterval); // beats that are missed
      const whileBlocked = await leaseUntil();
      writeFileSync(unblocked, '');
      await eventually(async () => expect(await leaseUntil()).toBeGreaterThan(whileBlocked!)); // it beats again
      rmSync(unblocked);
      await eventually(async () => expect((await seen.jobs.getJob(id))!.state).toBe(JobState.Succeeded));

      await eventually(() => expect(labels('undisturbed')).toEqual(['short']));
      expect(labels('started')).toEqual(['short']);
      expect(await seen.jobs.getJob(id)).toMatchObject({ attempt: 1, interruptions: 0 });
    });
  });
});
