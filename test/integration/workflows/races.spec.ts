import { Inject, Injectable } from '@nestjs/common';
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
import { FakeClock, HOUR, JobState } from 'nestjs-millrace/storage';
import { DataSource } from 'typeorm';
import { eventually } from '../../support/eventually';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, type StoreAddress } from '../../support/stores';

/** What activities do, held up where a test wants to come in between. */
@Injectable()
class Stage {
  readonly entries: string[] = [];
  private readonly gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();

  hold(name: string): void {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    this.gates.set(name, { opened, open });
  }

  open(name: string): void {
    this.gates.get(name)?.open();
  }

  async perform(name: string): Promise<void> {
    this.entries.push(name);
    await this.gates.get(name)?.opened;
  }

  began(name: string): Promise<void> {
    return eventually(() => expect(this.entries).toContain(name));
  }
}

interface Notes {
  notes: string[];
}

abstract class Act implements IActivity<Notes> {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  async execute({ data, signal }: ActivityContext<Notes>): Promise<void> {
    const { name } = this.constructor;
    await this.stage.perform(name);
    this.stage.entries.push(`${name} ${signal.aborted ? 'was aborted' : 'ended'}`);
    if (name === 'Fails' || name === 'BacksOff') throw new Error(`${name} fails`);
    data.notes = [...data.notes, name];
  }
}

@Activity()
class First extends Act {}
@Activity()
class Second extends Act {}
@Activity()
class Undo extends Act {}
@Activity()
class Runs extends Act {}
@Activity()
class UndoRuns extends Act {}
@Activity()
class BacksOff extends Act {}
@Activity()
class Fails extends Act {}
@Activity()
class Never extends Act {}

const activities = [First, Second, Undo, Runs, UndoRuns, BacksOff, Fails, Never];
const once = { retry: Retry.none };

@Workflow({ id: 'two steps', version: 1 })
class TwoStepsWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.startWith(First, once).then(Second, once);
  }
}

@Workflow({ id: 'waits', version: 1 })
class WaitingWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow
      .waitForSignal<string>({
        name: 'go',
        correlate: () => 'key',
        bind: (data, sender) => {
          data.notes = [...data.notes, sender];
        },
        timeout: '1h',
      })
      .then(Second, once);
  }
}

@Workflow({ id: 'crowded saga', version: 1 })
class CrowdedSagaWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.saga((saga) =>
      saga
        .then(First, once)
        .compensateWith(Undo, once)
        .parallel(
          (branch) => branch.then(Fails, once).then(Never, once),
          (branch) => branch.then(Runs, once).compensateWith(UndoRuns, once).then(Never, once),
          (branch) => branch.then(BacksOff, { retry: Retry.fixed('1h', 5) }).then(Never, once),
          (branch) =>
            branch
              .waitForSignal({ name: 'never', correlate: () => 'key', bind: () => undefined, timeout: '2h' })
              .then(Never, once),
          (branch) => branch.delay('30m').then(Never, once),
        ),
    );
  }
}

const NOON = new Date('2026-03-01T12:00:00.000Z');

describe('a race for a workflow instance', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (clock = new FakeClock(NOON), store: StoreAddress = freshStore()) =>
      RunningNode.start({
        store,
        clock,
        schedulerEnabled: false,
        providers: [Stage, ...activities, TwoStepsWorkflow, WaitingWorkflow, CrowdedSagaWorkflow],
      });
    const client = (node: RunningNode): IWorkflowClient => node.app.get(IWorkflowClient);
    const untilState = (node: RunningNode, id: InstanceId, state: string) =>
      eventually(async () => expect(await client(node).getInstance(id)).toMatchObject({ state }));

    it('between a signal and its expiry goes to the one that comes first', async () => {
      const clock = new FakeClock(NOON);
      await using node = await start(clock);

      const signalled = await client(node).start(WaitingWorkflow, { notes: [] });
      clock.advance(HOUR);
      expect(await client(node).signal('go', 'key', 'in time')).toBe(true);
      await node.runSchedulerPass();
      await untilState(node, signalled, 'Completed');

      const expired = await client(node).start(WaitingWorkflow, { notes: [] });
      clock.advance(HOUR);
      await node.runSchedulerPass();
      expect(await client(node).signal('go', 'key', 'too late')).toBe(false);
      await untilState(node, expired, 'Completed');

      expect(await client(node).getData(signalled)).toEqual({ notes: ['in time', 'Second'] });
      expect(await client(node).getData(expired)).toEqual({ notes: ['Second'] });
    });

    it('between signals and expiries at one moment resumes each instance once', async () => {
      const clock = new FakeClock(NOON);
      await using node = await start(clock);
      const ids = await Promise.all(
        Array.from({ length: 20 }, () => client(node).start(WaitingWorkflow, { notes: [] })),
      );
      clock.advance(HOUR);

      const [answers] = await Promise.all([
        Promise.all(Array.from({ length: 30 }, () => client(node).signal('go', 'key', 'signal'))),
        node.runSchedulerPass(),
      ]);
      for (const id of ids) await untilState(node, id, 'Completed');

      const documents = await Promise.all(ids.map((id) => client(node).getData<Notes>(id)));
      expect(documents.filter((document) => document!.notes.includes('signal'))).toHaveLength(
        answers.filter(Boolean).length,
      );
      expect(node.get(Stage).entries.filter((entry) => entry === 'Second')).toHaveLength(20);
    });

    it('between a cancellation and a finishing activity ends it cancelled: the activity is aborted and nothing follows', async () => {
      await using node = await start();
      const stage = node.get(Stage);
      stage.hold('First');
      const id = await client(node).start(TwoStepsWorkflow, { notes: [] });
      await stage.began('First');

      expect(await client(node).cancel(id)).toBe(true);
      expect(await client(node).cancel(id)).toBe(false);
      // Where the store cannot tell it at once, the next heartbeat does.
      await eventually(async () =>
        expect((await node.everyJob()).map(({ state }) => state)).toEqual([JobState.Cancelled]),
      );
      stage.open('First');
      await eventually(() => expect(stage.entries).toContain('First was aborted'));

      expect(await client(node).getInstance(id)).toMatchObject({ state: 'Cancelled', waits: [], parked: [] });
      expect(await client(node).getData(id)).toEqual({ notes: [] });
      expect(stage.entries).toEqual(['First', 'First was aborted']);
    });

    it('of a saga that fails in one branch: what waits is cancelled, what runs ends and is undone, nothing else begins', async () => {
      const clock = new FakeClock(NOON);
      await using node = await start(clock);
      const stage = node.get(Stage);
      for (const name of ['Fails', 'Runs']) stage.hold(name);
      const id = await client(node).start(CrowdedSagaWorkflow, { notes: [] });
      await Promise.all([stage.began('Fails'), stage.began('Runs'), stage.began('BacksOff')]);
      await eventually(async () => expect(await node.countOf(JobState.Failed)).toBe(1));

      stage.open('Fails');
      await eventually(async () => expect(await node.countOf(JobState.Cancelled)).toBe(2));
      expect(stage.entries).not.toContain('Undo');
      expect(await client(node).getInstance(id)).toMatchObject({ state: 'Running', waits: [] });
      expect(await client(node).signal('never', 'key')).toBe(false);

      stage.open('Runs');
      await untilState(node, id, 'Compensated');
      clock.advance(3 * HOUR);
      await node.runSchedulerPass();
      await node.settled();

      const undone = stage.entries.slice(stage.entries.indexOf('Runs ended'));
      expect(undone).toEqual(['Runs ended', 'UndoRuns', 'UndoRuns ended', 'Undo', 'Undo ended']);
      expect(stage.entries).not.toContain('Never');
      expect(await client(node).getData(id)).toEqual({ notes: ['First', 'Runs', 'UndoRuns', 'Undo'] });
    });
  });

  describeOnStores(['postgres', 'mssql'], (freshStore) => {
    it('for a wait whose signal is rolled back goes to the sender that has waited', async () => {
      const store = freshStore() as Extract<StoreAddress, { schema: string }>;
      await using node = await RunningNode.start({
        store,
        clock: new FakeClock(NOON),
        schedulerEnabled: false,
        providers: [Stage, ...activities, WaitingWorkflow],
      });
      const workflows = node.app.get(IWorkflowClient);
      const id = await workflows.start(WaitingWorkflow, { notes: [] });
      const source = await new DataSource({ type: store.kind as 'postgres', url: store.url }).initialize();
      const runner = source.createQueryRunner();
      try {
        await runner.startTransaction();
        expect(await workflows.signal('go', 'key', 'rolled back', { transaction: runner })).toBe(true);
        const second = workflows.signal('go', 'key', 'second');
        await runner.rollbackTransaction();

        expect(await second).toBe(true);
        await eventually(async () => expect(await workflows.getInstance(id)).toMatchObject({ state: 'Completed' }));
        expect(await workflows.getData(id)).toEqual({ notes: ['second', 'Second'] });
      } finally {
        await runner.release();
        await source.destroy();
      }
    });
  });
});
