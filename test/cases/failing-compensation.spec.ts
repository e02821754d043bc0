import {
  Activity,
  CompensationRecovery,
  type IActivity,
  type InstanceId,
  type IWorkflow,
  type IWorkflowBuilder,
  IWorkflowClient,
  Retry,
  Workflow,
} from 'nestjs-millrace';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';

/** What the activities did. It outlives the nodes, as the world outside does. */
class World {
  readonly done: string[] = [];
  undoTwoWorks = false;
}

abstract class Step implements IActivity {
  constructor(private readonly world: World) {}

  execute(): void {
    const { name } = this.constructor;
    this.world.done.push(name);
    if (name === 'Four' || (name === 'UndoTwo' && !this.world.undoTwoWorks)) throw new Error(`${name} fails`);
  }
}

@Activity()
class One extends Step {}
@Activity()
class Two extends Step {}
@Activity()
class Three extends Step {}
@Activity()
class Four extends Step {}
@Activity()
class UndoOne extends Step {}
@Activity()
class UndoTwo extends Step {}
@Activity()
class UndoThree extends Step {}

@Workflow({ id: 'trip', version: 1 })
class TripWorkflow implements IWorkflow<object> {
  build(flow: IWorkflowBuilder<object>): void {
    const once = { retry: Retry.none };
    flow.saga((saga) =>
      saga
        .then(One, once)
        .compensateWith(UndoOne, once)
        .then(Two, once)
        .compensateWith(UndoTwo, { retry: Retry.fixed(0, 2) })
        .then(Three, once)
        .compensateWith(UndoThree, once)
        .then(Four, once),
    );
  }
}

const activities = [One, Two, Three, Four, UndoOne, UndoTwo, UndoThree];
const UNTIL_STUCK = ['One', 'Two', 'Three', 'Four', 'UndoThree', 'UndoTwo', 'UndoTwo'];

describe('a compensation that fails', () => {
  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (store: StoreAddress, world: World) =>
      RunningNode.start({
        store,
        providers: [
          TripWorkflow,
          { provide: World, useValue: world },
          ...activities.map((type) => ({ provide: type, useFactory: () => new type(world) })),
        ],
      });
    const client = (node: RunningNode): IWorkflowClient => node.app.get(IWorkflowClient);

    /** An instance that is stuck in its unwinding, left behind by a node that is gone. */
    async function stuck(store: StoreAddress, world: World): Promise<InstanceId> {
      await using node = await start(store, world);
      const id = await client(node).start(TripWorkflow, {});
      await eventually(async () => expect(await client(node).getInstance(id)).toMatchObject({ state: 'Suspended' }));
      await node.settled();
      expect(world.done).toEqual(UNTIL_STUCK);
      expect((await client(node).getInstance(id))!.suspendedReason).toContain('UndoTwo');
      return id;
    }

    it.each<[CompensationRecovery, string, string[]]>([
      [CompensationRecovery.Retry, 'Compensated', ['UndoTwo', 'UndoOne']],
      [CompensationRecovery.Skip, 'Compensated', ['UndoOne']],
      [CompensationRecovery.Abandon, 'Failed', []],
    ])('suspends the instance; %s, on a node that started since, ends it %s', async (action, state, then) => {
      const store = freshStore();
      const world = new World();
      const id = await stuck(store, world);
      await using node = await start(store, world);
      world.undoTwoWorks = true;

      expect(await client(node).recoverCompensation(id, action)).toBe(true);

      await eventually(async () => expect(await client(node).getInstance(id)).toMatchObject({ state }));
      await node.allEnded();
      expect(world.done).toEqual([...UNTIL_STUCK, ...then]);
    });

    it('is decided once by two operators who decide at the same moment', async () => {
      const store = freshStore();
      const world = new World();
      const id = await stuck(store, world);
      await using one = await start(store, world);
      await using other = await start(store, world);
      world.undoTwoWorks = true;
      const park = (await client(one).getInstance(id))!.parked[0]!.number;

      const answers = await Promise.all(
        [one, other].map((node) => client(node).recoverCompensation(id, CompensationRecovery.Retry, { park })),
      );

      expect(answers.filter(Boolean)).toHaveLength(1);
      await eventually(async () => expect(await client(one).getInstance(id)).toMatchObject({ state: 'Compensated' }));
      expect(world.done).toEqual([...UNTIL_STUCK, 'UndoTwo', 'UndoOne']);
    });
  });
});
