import {
  Activity,
  type ActivityContext,
  type IActivity,
  type InstanceId,
  type IWorkflow,
  type IWorkflowBuilder,
  IWorkflowClient,
  Retry,
  Workflow,
} from 'nestjs-millrace';
import { FakeClock, HOUR, MINUTE } from 'nestjs-millrace/storage';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';

interface Onboarding {
  readonly name: string;
  readonly way: 'waits' | 'is delayed' | 'fails at first' | 'is in parallel' | 'ends';
}

/** What the activities did. It outlives the nodes, as the world outside does. */
class World {
  readonly done: string[] = [];
}

@Activity()
class Create implements IActivity<Onboarding> {
  constructor(private readonly world: World) {}

  execute({ data, version }: ActivityContext<Onboarding>): void {
    this.world.done.push(`created ${data.name} (${version})`);
  }
}

/** Fails once, so that its job backs off. */
@Activity()
class Check implements IActivity<Onboarding> {
  private readonly failed = new Set<string>();

  constructor(private readonly world: World) {}

  execute({ data, nodeId }: ActivityContext<Onboarding>): void {
    const place = `${data.name} ${nodeId}`;
    if (!this.failed.has(place)) {
      this.failed.add(place);
      throw new Error('At first');
    }
    this.world.done.push(`checked ${data.name}`);
  }
}

@Activity()
class Welcome implements IActivity<Onboarding> {
  constructor(private readonly world: World) {}

  execute({ data, version }: ActivityContext<Onboarding>): void {
    this.world.done.push(`welcomed ${data.name} (${version})`);
  }
}

const patient = { retry: Retry.fixed('30m', 3) };

@Workflow({ id: 'onboarding', version: 1 })
class OnboardingOne implements IWorkflow<Onboarding> {
  build(flow: IWorkflowBuilder<Onboarding>): void {
    flow
      .startWith(Create)
      .if(
        ({ way }) => way === 'waits',
        (then) => then.waitForSignal({ name: 'go', correlate: ({ name }) => name, bind: () => undefined }),
      )
      .if(
        ({ way }) => way === 'is delayed',
        (then) => then.delay('1h'),
      )
      .if(
        ({ way }) => way === 'fails at first',
        (then) => then.then(Check, patient),
      )
      .if(
        ({ way }) => way === 'is in parallel',
        (then) =>
          then.parallel(
            (branch) => branch.then(Check, patient),
            (branch) => branch.delay('40m').then(Create),
          ),
      )
      .then(Welcome);
  }
}

@Workflow({ id: 'onboarding', version: 2 })
class OnboardingTwo implements IWorkflow<Onboarding> {
  build(flow: IWorkflowBuilder<Onboarding>): void {
    flow.startWith(Create).then(Welcome);
  }
}

/** The first version, edited under its old number. */
@Workflow({ id: 'onboarding', version: 1 })
class OnboardingEdited implements IWorkflow<Onboarding> {
  build(flow: IWorkflowBuilder<Onboarding>): void {
    flow.startWith(Create).then(Check).then(Welcome);
  }
}

const WAYS = ['waits', 'is delayed', 'fails at first', 'is in parallel'] as const;

describe('a workflow version that is taken out while instances are under way', () => {
  describeOnStores(['sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (
      store: StoreAddress,
      clock: FakeClock,
      world: World,
      versions: (new () => IWorkflow<Onboarding>)[],
    ) =>
      RunningNode.start({
        store,
        clock,
        schedulerEnabled: false,
        providers: [
          ...versions,
          ...[Create, Check, Welcome].map((type) => ({ provide: type, useFactory: () => new type(world) })),
        ],
      });
    const client = (node: RunningNode): IWorkflowClient => node.app.get(IWorkflowClient);

    /** Lets time pass, and waits each time until nothing is left to do. */
    async function letTimePass(node: RunningNode, clock: FakeClock, step: number, times: number): Promise<void> {
      for (let count = 0; count < times; count++) {
        clock.advance(step);
        await node.runSchedulerPass();
        await node.settled();
      }
    }

    /** One instance for each way of being under way, left behind by a node that is gone. */
    async function underWay(store: StoreAddress, clock: FakeClock, world: World): Promise<InstanceId[]> {
      await using node = await start(store, clock, world, [OnboardingOne]);
      const ids: InstanceId[] = [];
      for (const way of WAYS) ids.push(await client(node).start('onboarding', { name: way, way }));
      await node.settled();
      return ids;
    }

    it('leaves them waiting, visibly, and they go on from where they stood when it is back', async () => {
      const [store, clock, world] = [freshStore(), new FakeClock(new Date('2026-03-01T10:00:00.000Z')), new World()];
      const ids = await underWay(store, clock, world);

      const before = world.done.length;
      {
        await using node = await start(store, clock, world, [OnboardingTwo]);
        expect(await client(node).signal('go', 'waits')).toBe(true);
        const second = await client(node).start('onboarding', { name: 'new', way: 'ends' });
        await letTimePass(node, clock, 5 * MINUTE, 24);

        expect(await client(node).getInstance(second)).toMatchObject({ state: 'Completed', definitionVersion: 2 });
        expect(world.done.slice(before)).toEqual(['created new (2)', 'welcomed new (2)']);
        for (const id of ids) {
          expect(['Running', 'Suspended']).toContain((await client(node).getInstance(id))!.state);
        }
        const waiting = (await node.everyJob()).filter((job) => job.instanceId !== null && job.finishedAt === null);
        expect(waiting.length).toBeGreaterThanOrEqual(ids.length);
        for (const job of waiting) {
          expect(job).toMatchObject({ state: 'Scheduled', interruptions: 0 });
          expect(job.lastError).toContain('onboarding@1');
        }
        expect(node.log.complaints('onboarding@1')).toHaveLength(1);
      }

      await using node = await start(store, clock, world, [OnboardingOne, OnboardingTwo]);
      await letTimePass(node, clock, MINUTE, 5);
      await letTimePass(node, clock, HOUR, 3);

      await eventually(async () => {
        for (const id of ids) expect(await client(node).getInstance(id)).toMatchObject({ state: 'Completed' });
      });
      for (const way of WAYS) {
        expect(world.done.filter((entry) => entry === `welcomed ${way} (1)`)).toHaveLength(1);
      }
      expect(world.done.filter((entry) => entry === 'checked fails at first')).toHaveLength(1);
      expect(world.done.filter((entry) => entry === 'created is in parallel (1)')).toHaveLength(2);
    });

    it('is refused when it comes back with another graph', async () => {
      const [store, clock, world] = [freshStore(), new FakeClock(new Date('2026-03-01T10:00:00.000Z')), new World()];
      await underWay(store, clock, world);

      await expect(start(store, clock, world, [OnboardingEdited])).rejects.toThrow(
        /onboarding@1.*acceptChangedShapes/s,
      );

      await using node = await start(store, clock, world, [OnboardingOne]);
      await node.settled();
    });
  });
});
