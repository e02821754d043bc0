import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import {
  Activity,
  type ActivityContext,
  type IActivity,
  type IWorkflow,
  type IWorkflowBuilder,
  JobContext,
  Retry,
  Workflow,
} from 'nestjs-millrace';
import { MillraceTestHost } from 'nestjs-millrace/testing';

interface Notes {
  items: readonly string[];
  notes: Record<string, unknown>;
  extra?: unknown;
}

const document = (items: readonly string[] = []): Notes => ({ items, notes: {} });

@Injectable({ scope: Scope.REQUEST })
class UnitOfWork {
  static made = 0;
  readonly number = ++UnitOfWork.made;

  constructor(@Inject(REQUEST) readonly request: JobContext) {}
}

/** Request-scoped, since what it depends on is. */
@Activity()
class Scoped implements IActivity<Notes> {
  constructor(
    private readonly work: UnitOfWork,
    private readonly job: JobContext,
  ) {}

  async execute({ data, nodeId, instanceId }: ActivityContext<Notes>): Promise<void> {
    await Promise.resolve();
    data.notes[nodeId] = {
      number: this.work.number,
      isItsJob: this.work.request.jobId === this.job.jobId,
      isItsInstance: this.job.workflow?.instanceId === instanceId,
    };
  }
}

/** What the workflow names; what stands behind it is the module's business. */
abstract class Notifier implements IActivity<Notes> {
  abstract execute(context: ActivityContext<Notes>): void;
}

@Activity()
class MailNotifier extends Notifier {
  override execute({ data, nodeId }: ActivityContext<Notes>): void {
    data.notes[nodeId] = 'mailed';
  }
}

@Activity({ name: 'pinned', aliases: ['formerly'] })
class Pinned implements IActivity<Notes> {
  execute({ data, nodeId }: ActivityContext<Notes>): void {
    data.notes[nodeId] = 'pinned';
  }
}

@Activity()
class Place implements IActivity<Notes> {
  execute({ data, nodeId, loopIndex, loopPath, definitionId, version }: ActivityContext<Notes>): void {
    data.notes[`${nodeId} ${loopPath.join('.')}`] = [data.items[loopIndex], loopIndex, `${definitionId}@${version}`];
  }
}

/** Leaves a mess in the document, and fails the first time. */
@Activity()
class Messy implements IActivity<Notes> {
  private attempts = 0;

  execute({ data }: ActivityContext<Notes>): void {
    data.notes['seen'] = [...((data.notes['seen'] as string[] | undefined) ?? []), `attempt ${++this.attempts}`];
    if (this.attempts === 1) throw new Error('At first');
  }
}

@Activity()
class Unstorable implements IActivity<Notes> {
  execute({ data }: ActivityContext<Notes>): void {
    data.extra = data.items[0] === 'NUL' ? 'a\u0000b' : data.items[0] === 'large' ? 'x'.repeat(2 ** 20) : () => 1;
  }
}

@Activity()
class Typed implements IActivity<Notes> {
  execute({ data }: ActivityContext<Notes>): void {
    data.extra = { at: new Date(0), tags: new Set(['a']), big: 10n, nothing: undefined };
  }
}

@Workflow({ id: 'scoped', version: 1 })
class ScopedWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.startWith(Scoped).then(Scoped);
  }
}

@Workflow({ id: 'named', version: 1 })
class NamedWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.startWith(Notifier).then(Pinned).then(MailNotifier);
  }
}

@Workflow({ id: 'loops', version: 3 })
class LoopsWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow
      .forEach(
        ({ items }) => items,
        (item) =>
          item
            .then(Place)
            .delay('1m')
            .then(Place)
            .forEach(
              () => [1, 2],
              (inner) => inner.then(Place),
            ),
      )
      .then(Place);
  }
}

@Workflow({ id: 'messy', version: 1 })
class MessyWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.startWith(Messy, { retry: Retry.fixed(0, 2) }).then(Typed);
  }
}

@Workflow({ id: 'unstorable', version: 1 })
class UnstorableWorkflow implements IWorkflow<Notes> {
  build(flow: IWorkflowBuilder<Notes>): void {
    flow.startWith(Unstorable, { retry: Retry.fixed(0, 2) });
  }
}

const providers = [
  UnitOfWork,
  Scoped,
  { provide: Notifier, useExisting: MailNotifier },
  MailNotifier,
  Pinned,
  Place,
  Messy,
  Typed,
  Unstorable,
  ScopedWorkflow,
  NamedWorkflow,
  LoopsWorkflow,
  MessyWorkflow,
  UnstorableWorkflow,
];

describe('An activity', () => {
  const start = () => MillraceTestHost.create({ providers });
  async function run(millrace: MillraceTestHost, workflow: string, items: readonly string[] = []): Promise<Notes> {
    const id = await millrace.workflows.start(workflow, document(items));
    await millrace.advanceAndRun('1h');
    expect(await millrace.getInstanceState(id)).toBe('Completed');
    return (await millrace.getData<Notes>(id))!;
  }

  it('and what it depends on gets one scope per execution, whose request is the job', async () => {
    await using millrace = await start();

    const { notes } = await run(millrace, 'scoped');

    const own = { isItsJob: true, isItsInstance: true };
    expect(notes).toEqual({ a1: { number: expect.any(Number), ...own }, a2: { number: expect.any(Number), ...own } });
    expect((notes['a1'] as { number: number }).number).not.toBe((notes['a2'] as { number: number }).number);
  });

  it('is found behind an abstract token, under its own name, and under a pinned one', async () => {
    await using millrace = await start();

    expect((await run(millrace, 'named')).notes).toEqual({ a1: 'mailed', a2: 'pinned', a3: 'mailed' });
  });

  it('is told the index of its iteration in every step of the body, and of all loops around it', async () => {
    await using millrace = await start();

    const { notes } = await run(millrace, 'loops', ['x', 'y']);

    expect(notes).toEqual({
      'a1 0': ['x', 0, 'loops@3'],
      'a1 1': ['y', 1, 'loops@3'],
      'a2 0': ['x', 0, 'loops@3'],
      'a2 1': ['y', 1, 'loops@3'],
      'a3 0.0': ['x', 0, 'loops@3'],
      'a3 0.1': ['y', 1, 'loops@3'],
      'a3 1.0': ['x', 0, 'loops@3'],
      'a3 1.1': ['y', 1, 'loops@3'],
      'a4 ': ['x', 0, 'loops@3'],
    });
  });

  it('that fails leaves nothing in the document; types that JSON lacks stay what they are', async () => {
    await using millrace = await start();

    const { notes, extra } = await run(millrace, 'messy');

    expect(notes).toEqual({ seen: ['attempt 2'] });
    expect(extra).toEqual({ at: new Date(0), tags: new Set(['a']), big: 10n, nothing: undefined });
  });

  it.each([
    ['NUL', /extra/],
    ['large', /1048576|1 MiB|larger/],
    ['function', /extra/],
  ])('that leaves in the document what cannot be stored has failed (%s), with its retries', async (what, reason) => {
    await using millrace = await start();

    const id = await millrace.workflows.start('unstorable', document([what]));
    expect(await millrace.runUntilIdle({ throwOnFailure: false })).toBe(2);

    const instance = (await millrace.getInstance(id))!;
    expect(instance.state).toBe('Failed');
    expect(instance.failure?.error).toMatch(reason);
    expect(await millrace.getData(id)).toEqual(document([what]));
  });
});
