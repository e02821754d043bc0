import { Module } from '@nestjs/common';
import {
  Activity,
  type IActivity,
  inMemoryStorage,
  type IWorkflow,
  type IWorkflowBuilder,
  Workflow,
} from 'nestjs-millrace';
import { MillraceTestHost } from 'nestjs-millrace/testing';
import { sharedStorage } from '../worker/an-application';

@Activity()
class Step implements IActivity {
  execute(): void {}
}

@Activity()
class OtherStep implements IActivity {
  execute(): void {}
}

const wait = { name: 'go', correlate: () => 'key', bind: () => undefined };

@Workflow({ id: 'onboarding', version: 1 })
class Onboarding implements IWorkflow {
  build(flow: IWorkflowBuilder<unknown>): void {
    flow.startWith(Step).waitForSignal(wait).then(Step);
  }
}

/** The same graph from another build: other retries, other text. */
@Workflow({ id: 'onboarding', version: 1 })
class Rebuilt implements IWorkflow {
  build(flow: IWorkflowBuilder<unknown>): void {
    flow
      .startWith(Step, { queue: 'elsewhere', timeout: '1m' })
      .waitForSignal({ ...wait, correlate: () => ['key'].join(''), timeout: '2d' })
      .then(Step);
  }
}

@Workflow({ id: 'onboarding', version: 1 })
class Edited implements IWorkflow {
  build(flow: IWorkflowBuilder<unknown>): void {
    flow.startWith(Step).then(OtherStep).waitForSignal(wait).then(Step);
  }
}

@Workflow({ id: 'onboarding', version: 2 })
class Second implements IWorkflow {
  build(flow: IWorkflowBuilder<unknown>): void {
    flow.startWith(Step);
  }
}

@Workflow({ id: 'awaited', version: 1 })
class Awaited implements IWorkflow {
  // oxlint-disable-next-line typescript/no-misused-promises -- the mistake that is tested
  async build(flow: IWorkflowBuilder<unknown>): Promise<void> {
    await (flow.startWith(Step) as unknown as Promise<void>);
  }
}

describe('A workflow definition', () => {
  const store = sharedStorage(inMemoryStorage());
  const host = (providers: (new () => object)[], options = {}, storage = inMemoryStorage()) =>
    MillraceTestHost.create({ providers, options, storage });

  it('whose activity nobody provides stops the start, naming workflow and step', async () => {
    await expect(host([Onboarding])).rejects.toMatchObject({
      code: 'MILLRACE_WORKFLOW_DEFINITION',
      message: expect.stringMatching(/onboarding@1, step a1: Step .*@Activity/),
    });
  });

  it('that is awaited, or asynchronous, stops the start, saying so', async () => {
    await expect(host([Awaited, Step])).rejects.toMatchObject({
      code: 'MILLRACE_WORKFLOW_DEFINITION',
      message: expect.stringMatching(/awaited@1.*synchronous/s),
    });
  });

  it('of which there are two under one id and version stops the start, naming both', async () => {
    await expect(host([Onboarding, Edited, Step, OtherStep])).rejects.toMatchObject({
      code: 'MILLRACE_DUPLICATE_DEFINITION',
      message: expect.stringMatching(/onboarding@1.*Onboarding.*Edited/s),
    });
  });

  it('may be provided twice by two modules', async () => {
    @Module({ providers: [Onboarding, Step], exports: [] })
    class Feature {}
    await using millrace = await MillraceTestHost.create({ imports: [Feature], providers: [Onboarding, Step] });

    expect(await millrace.workflows.start(Onboarding, {})).toEqual(expect.any(String));
  });

  it('that is unknown is an error of start that lists what there is', async () => {
    await using millrace = await host([Onboarding, Second, Step]);

    await expect(millrace.workflows.start('onbording', {})).rejects.toThrow(/"onbording".*onboarding@1, onboarding@2/);
    await expect(millrace.workflows.start('onboarding', {}, { version: 3 })).rejects.toThrow(/onboarding@3/);
    await expect(millrace.workflows.start(Edited as never, {})).rejects.toThrow(/Edited.*no workflow/);
  });

  it('is the newest version, or the one that is asked for', async () => {
    await using millrace = await host([Onboarding, Second, Step]);

    const [newest, first] = [
      await millrace.workflows.start('onboarding', {}),
      await millrace.workflows.start('onboarding', {}, { version: 1 }),
    ];

    expect(await millrace.getInstance(newest)).toMatchObject({ definitionVersion: 2 });
    expect(await millrace.getInstance(first)).toMatchObject({ definitionVersion: 1 });
  });

  it('may be rebuilt, but not edited under its old version while instances are live, unless that is accepted', async () => {
    const before = await host([Onboarding, Step], {}, store);
    const id = await before.workflows.start('onboarding', {});
    await before.runUntilIdle();
    await before[Symbol.asyncDispose]();

    await using rebuilt = await host([Rebuilt, Step], {}, store);
    await expect(host([Edited, Step, OtherStep], {}, store)).rejects.toMatchObject({
      code: 'MILLRACE_CHANGED_SHAPE',
      liveInstances: 1,
      message: expect.stringContaining("acceptChangedShapes: ['onboarding@1']"),
    });

    await using edited = await host([Edited, Step, OtherStep], { acceptChangedShapes: ['onboarding@1'] }, store);
    // The node whose graph is another one now leaves its instances to the others, and starts none.
    await expect(rebuilt.workflows.start('onboarding', {})).rejects.toMatchObject({
      code: 'MILLRACE_DEFINITION_CHANGED',
    });
    expect(await edited.workflows.cancel(id)).toBe(true);
    expect(await edited.getInstanceState(id)).toBe('Cancelled');
  });
});
