import { JobState, type Storage } from 'nestjs-millrace/storage';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { describeOnStores, openStore } from '../support/stores';

const options = { leaseDuration: '1500ms', heartbeatInterval: '300ms' };

describe('a handler that blocks the event loop', () => {
  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    let nodes: ChildNode[] = [];
    let seen: Storage & AsyncDisposable;

    beforeAll(async () => {
      const store = freshStore();
      seen = await openStore(store);
      nodes = [ChildNode.spawn({ store, options }), ChildNode.spawn({ store, options })];
      await Promise.all(nodes.map((node) => node.ready()));
    });

    afterAll(async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      await seen[Symbol.asyncDispose]();
    });

    const labels = (name: string) => nodes.flatMap((node) => node.labels(name));
    const nodeThatBegan = (label: string, attempt: number) =>
      nodes.find(({ events }) => events.some((event) => event.label === label && event.attempt === attempt));

    it('for longer than its lease, loses the job to another node, which alone ends it; both work on', async () => {
      const parent = await nodes[0]!.call('spin', 'parent', 4_000);
      const child = await nodes[0]!.call('continueWith', parent, 'child');

      await eventually(() => {
        expect(labels('aborted')).toEqual(['parent']);
        expect(labels('ran')).toEqual(['child']);
      });
      const blocked = nodeThatBegan('parent', 1)!;
      await eventually(() => expect(blocked.output).toMatch(/blocked for [3-9]\.\d s.*ProgramJobs\.spin \(/));
      const after = Array.from({ length: 20 }, (_, index) => `after ${index}`);
      await blocked.call('notes', after);
      await eventually(() => expect(labels('ran').toSorted()).toEqual([...after, 'child'].toSorted()));

      expect(nodeThatBegan('parent', 2)).not.toBe(blocked);
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
      const id = await nodes[0]!.call('spin', 'short', 700);

      await eventually(async () => expect((await seen.jobs.getJob(id))!.state).toBe(JobState.Succeeded));

      expect(labels('started').filter((label) => label === 'short')).toHaveLength(1);
      expect(labels('undisturbed')).toEqual(['short']);
      expect(await seen.jobs.getJob(id)).toMatchObject({ attempt: 1, interruptions: 0 });
    });
  });
});
