import { DefinitionChangedError, FakeClock, type Storage } from 'nestjs-millrace/storage';
import { anInstance, aWorkflowDefinition } from '../../../lib/conformance/workflow-builders';
import { eventually } from '../../support/eventually';
import { PostgresSession } from '../../support/postgres-session';
import { describeOnStores, openStore, type StoreAddress } from '../../support/stores';

describe('a start that meets a replacement of its shape which is not committed yet', () => {
  describeOnStores(['postgres'], (freshStore) => {
    const clock = new FakeClock();
    const start = ({ workflows }: Storage, shapeHash: string) =>
      workflows.createInstance({ instance: anInstance(clock, { shapeHash }), jobs: [], bookmarks: [] });

    it.each([
      ['commit', 'edited'],
      ['rollback', 'shape'],
    ] as const)('waits for its %s, and goes by the shape that this leaves', async (end, left) => {
      const store = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
      await using storage = await openStore(store, {}, clock);
      await using replacing = await PostgresSession.open();
      await using watching = await PostgresSession.open(); // a transaction sees all sessions as at its first look
      const backend = await replacing.backend();
      await storage.workflows.registerDefinition(aWorkflowDefinition(clock), false);
      await replacing.query('begin');
      await replacing.query(`update ${store.schema}.workflow_definitions set shape_hash = 'edited'`);

      const starts = Promise.allSettled([start(storage, 'shape'), start(storage, 'edited')]);
      await eventually(() => expectWaiting(watching, backend, 2));
      await replacing.query(end);

      const [shape, edited] = await starts;
      const [succeeded, refused] = left === 'shape' ? [shape, edited] : [edited, shape];
      expect(succeeded.status).toBe('fulfilled');
      expect((refused as PromiseRejectedResult).reason).toBeInstanceOf(DefinitionChangedError);
    });
  });
});

/** Expects so many sessions to wait for that of this backend. */
async function expectWaiting(session: PostgresSession, backend: number, count: number): Promise<void> {
  const rows = await session.query('select pid from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [backend]);
  expect(rows).toHaveLength(count);
}
