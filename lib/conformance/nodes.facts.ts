import assert from 'node:assert/strict';
import type { NodeRecord } from '../model/node';
import { later, MINUTE } from '../model/time';
import { aJob, claimBy } from './builders';
import { assertEqual } from './expectations';
import { claimed, inParallel, storedJob } from './steps';
import type { FactSuite, World } from './world';

/** What is known of queues and nodes is known to all of them. */
export function nodeFacts({ describe, fact }: FactSuite): void {
  describe('queues', () => {
    fact('that are paused give nothing to any node, and those beside them go on', async (world) => {
      const { jobs, clock } = world;
      const [one, other] = await world.nodes();
      const [held, free] = [aJob(clock, { queue: 'mail', priority: 9 }), aJob(clock, { queue: 'reports' })];
      await jobs.enqueue([held, free]);
      await one.jobs.setQueuePaused('mail', true);

      const request = claimBy('w2', { queues: ['mail', 'reports'] });
      const claims = [...(await other.jobs.claim(request)), ...(await one.jobs.claim(request))];

      assertEqual(
        claims.map(({ id }) => id),
        [free.id],
      );
    });

    fact('that are paused keep jobs whose lease has expired too', async (world) => {
      const { jobs, clock } = world;
      const job = await claimed(world);
      await jobs.setQueuePaused('default', true);
      clock.advance(6 * MINUTE);

      assertEqual(await jobs.claim(claimBy('w2')), []);
      assert.equal((await storedJob(world, job.id)).workerId, 'w1');
    });

    fact('that are paused take jobs in all the same, and give them once they are resumed', async (world) => {
      const { jobs, clock } = world;
      await jobs.setQueuePaused('mail', true);
      const job = aJob(clock, { queue: 'mail' });
      await jobs.enqueue([job]);

      await jobs.setQueuePaused('mail', false);

      assertEqual(
        (await jobs.claim(claimBy('w1', { queues: ['mail'] }))).map(({ id }) => id),
        [job.id],
      );
    });

    fact('are listed once they were paused, with what they are now', async ({ jobs }) => {
      assertEqual(await jobs.getQueues(), []);
      await jobs.setQueuePaused('mail', true);
      await jobs.setQueuePaused('mail', true);
      await jobs.setQueuePaused('reports', true);
      await jobs.setQueuePaused('reports', false);

      const queues = await jobs.getQueues();

      assertEqual(
        queues.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        [
          { name: 'mail', paused: true },
          { name: 'reports', paused: false },
        ],
      );
    });

    fact('can be paused by eight nodes at once', async (world) => {
      const nodes = await world.nodes();

      await inParallel(8, (n) => nodes[n % 2 === 0 ? 0 : 1].jobs.setQueuePaused('mail', true));

      assertEqual(await world.jobs.getQueues(), [{ name: 'mail', paused: true }]);
    });
  });

  describe('nodes', () => {
    fact('are listed as they reported themselves last', async (world) => {
      const { jobs, clock } = world;
      const [a, b] = [aNode(world, 'host-1:a'), aNode(world, 'host-2:b')];
      await jobs.recordNode(a);
      await jobs.recordNode(b);
      clock.advance(MINUTE);
      const updated = { ...a, running: 7, queues: ['default'], heartbeatAt: clock.now() };
      await jobs.recordNode(updated);

      const nodes = await jobs.getNodes();

      assertEqual(
        nodes.toSorted((x, y) => (x.id < y.id ? -1 : 1)),
        [updated, b],
      );
    });

    fact('are gone once they are removed, and removing an unknown one does nothing', async (world) => {
      const { jobs } = world;
      await jobs.recordNode(aNode(world, 'a'));
      await jobs.recordNode(aNode(world, 'b'));

      await jobs.removeNode('a');
      await jobs.removeNode('a');

      assertEqual(
        (await jobs.getNodes()).map(({ id }) => id),
        ['b'],
      );
    });
  });
}

function aNode({ clock }: World, id: string): NodeRecord {
  return {
    id,
    host: 'host-1',
    queues: ['default', 'mail, urgent', 'Zürich "1"'],
    maxParallelism: 20,
    running: 3,
    version: '1.2.3',
    startedAt: later(clock.now(), -MINUTE),
    heartbeatAt: clock.now(),
  };
}
