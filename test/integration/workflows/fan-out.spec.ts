import { Injectable } from '@nestjs/common';
import {
  Activity,
  type ActivityContext,
  type IActivity,
  type IWorkflow,
  type IWorkflowBuilder,
  IWorkflowClient,
  Workflow,
} from 'nestjs-millrace';
import { IWorkflowStorage } from 'nestjs-millrace/storage';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { describeOnStores } from '../../support/stores';

const BRANCHES = 200;
const ITEMS = 10_000;

/** Lets all of a crowd go at one moment. */
@Injectable()
class Barrier {
  private waiting = 0;
  private open: () => void = () => undefined;
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));

  async meet(size: number): Promise<void> {
    if (++this.waiting === size) this.open();
    await this.opened;
  }
}

interface Notes {
  readonly notes: Record<string, number>;
  finished: number;
}

@Activity()
class Note implements IActivity<Notes> {
  readonly executions: string[] = [];

  constructor(private readonly barrier: Barrier) {}

  async execute({ data, nodeId }: ActivityContext<Notes>): Promise<void> {
    this.executions.push(nodeId);
    await this.barrier.meet(BRANCHES);
    data.notes[nodeId] = 1;
  }
}

@Activity()
class Finish implements IActivity<Notes> {
  execute({ data }: ActivityContext<Notes>): void {
    data.finished++;
  }
}

@Workflow({ id: 'crowd', version: 1 })
class CrowdWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    const branches = Array.from({ length: BRANCHES }, () => (branch: IWorkflowBuilder<Notes>) => branch.then(Note));
    flow.parallel(...branches).then(Finish);
  }
}

interface Shipment {
  readonly items: number;
  finished: number;
}

@Activity()
class Ship implements IActivity<Shipment> {
  readonly shipped: number[] = [];
  longestCursor = 0;

  constructor(private readonly storage: IWorkflowStorage) {}

  async execute({ instanceId, loopIndex }: ActivityContext<Shipment>): Promise<void> {
    this.shipped.push(loopIndex);
    if (loopIndex % 500 !== 0) return;
    const instance = await this.storage.getInstance(instanceId);
    this.longestCursor = Math.max(this.longestCursor, instance!.cursor.length);
  }
}

@Workflow({ id: 'shipments', version: 1 })
class ShipmentsWorkflow implements IWorkflow<Shipment> {
  build(flow: IWorkflowBuilder<Shipment>): void {
    flow.forEach(
      ({ items }) => Array.from({ length: items }),
      (item) => item.then(Ship),
    );
  }
}

describe('a workflow that fans out', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it(`keeps what ${BRANCHES} branches write that finish together, and runs each once`, async () => {
      await using node = await RunningNode.start({
        store: freshStore(),
        maxParallelism: BRANCHES,
        providers: [Barrier, Note, Finish, CrowdWorkflow],
      });
      const workflows = node.app.get(IWorkflowClient);

      const id = await workflows.start(CrowdWorkflow, { notes: {}, finished: 0 });
      await eventually(async () => expect(await workflows.getInstance(id)).toMatchObject({ state: 'Completed' }));

      const { notes, finished } = (await workflows.getData<Notes>(id))!;
      expect(Object.keys(notes)).toHaveLength(BRANCHES);
      expect(finished).toBe(1);
      expect(new Set(node.get(Note).executions).size).toBe(BRANCHES);
      expect(node.get(Note).executions).toHaveLength(BRANCHES);
    });

    it(`goes over ${ITEMS} items, each once, with a cursor whose size does not follow their number`, async () => {
      await using node = await RunningNode.start({
        store: freshStore(),
        providers: [Ship, ShipmentsWorkflow],
      });
      const workflows = node.app.get(IWorkflowClient);

      const id = await workflows.start(ShipmentsWorkflow, { items: ITEMS, finished: 0 });
      await eventually(
        async () => expect(await workflows.getInstance(id)).toMatchObject({ state: 'Completed' }),
        55_000,
      );

      const { shipped, longestCursor } = node.get(Ship);
      expect(shipped).toHaveLength(ITEMS);
      expect(new Set(shipped).size).toBe(ITEMS);
      expect(longestCursor).toBeGreaterThan(0);
      expect(longestCursor).toBeLessThan(500);
    });
  });
});
