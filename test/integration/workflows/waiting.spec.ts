import { type IWorkflow, type IWorkflowBuilder, IWorkflowClient, Workflow } from 'nestjs-millrace';
import { IJobStorage, IWorkflowStorage } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, type StoreAddress } from '../../support/stores';

const INSTANCES = 100_000;

/** What the nth copy does not have from its original. */
const OWN_VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  workflow_instances: { id: 'md5(n::text)::uuid' },
  bookmarks: { id: 'gen_random_uuid()', instance_id: 'md5(n::text)::uuid', correlation_id: "'copy ' || n" },
};

interface Approval {
  readonly key: string;
}

@Workflow({ id: 'approval', version: 1 })
class ApprovalWorkflow implements IWorkflow<Approval> {
  build(flow: IWorkflowBuilder<Approval>): void {
    flow.waitForSignal({ name: 'approve', correlate: ({ key }) => key, bind: () => undefined, timeout: '30d' });
  }
}

/** Copies the one instance that there is, with its wait, until there are so many; each copy waits for a key of its own. */
async function multiply(store: Extract<StoreAddress, { kind: 'postgres' }>): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url: store.url }).initialize();
  for (const [table, own] of Object.entries(OWN_VALUES)) {
    const rows: { column_name: string }[] = await source.query(
      `select column_name from information_schema.columns where table_schema = '${store.schema}' and table_name = '${table}'`,
    );
    const columns = rows.map((row) => row.column_name);
    const values = columns.map((column) => own[column] ?? column);
    await source.query(
      `insert into ${store.schema}.${table} (${columns.join(', ')})
       select ${values.join(', ')} from ${store.schema}.${table}, generate_series(2, ${INSTANCES}) as n`,
    );
  }
  await source.destroy();
}

describe(`${INSTANCES} waiting instances`, () => {
  describeOnStores(['postgres'], (freshStore) => {
    it('cost a row each beside their own: no job, and no call of the store but the probe', async () => {
      const store = freshStore() as Extract<StoreAddress, { kind: 'postgres' }>;
      await using node = await RunningNode.start({ store, providers: [ApprovalWorkflow] });
      const workflows = node.app.get(IWorkflowClient);
      const id = await workflows.start(ApprovalWorkflow, { key: 'k' });
      await multiply(store);

      const calls = new Set<string>();
      let probes = 0;
      for (const port of [node.app.get(IJobStorage), node.app.get(IWorkflowStorage)]) {
        for (const method of methodsOf(port)) {
          const original = (port as unknown as Record<string, (...args: unknown[]) => unknown>)[method]!.bind(port);
          jest.spyOn(port as never, method as never).mockImplementation(((...args: unknown[]) => {
            if (method === 'probe') probes++;
            else calls.add(method);
            return original(...args);
          }) as never);
        }
      }
      await eventually(() => expect(probes).toBeGreaterThan(20));
      jest.restoreAllMocks();

      expect([...calls].filter((method) => method !== 'reportNode')).toEqual([]);
      expect(await node.everyJob()).toEqual([]);
      expect(await workflows.getInstance(id)).toMatchObject({ state: 'Suspended', waits: [{ signalName: 'approve' }] });
      expect(await workflows.signal('approve', 'k')).toBe(true);
      await eventually(async () => expect(await workflows.getInstance(id)).toMatchObject({ state: 'Completed' }));
    });
  });
});

/** What is no call of the store. */
const OTHERS = ['constructor', 'now'];

function methodsOf(port: object): string[] {
  const prototype = Object.getPrototypeOf(port) as object;
  return Object.getOwnPropertyNames(prototype).filter(
    (name) => !OTHERS.includes(name) && typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === 'function',
  );
}
