import type { ActivityType } from '../../lib/workflows/activity';
import { NestedSagaPolicy, StepFailurePolicy, type WorkflowGraph } from '../../lib/workflows/graph/graph';
import { compileGraph } from '../../lib/workflows/graph/graph-compiler';
import type { ISagaBuilder } from '../../lib/workflows/graph/saga-builder';
import type { IWorkflowBuilder } from '../../lib/workflows/graph/workflow-builder';
import type { Choices } from './choices';

/** A random definition, as nested data: what the builder is told, and what the oracle reads. */
export type Shape =
  | { readonly kind: 'step'; readonly compensated: boolean; readonly onFailure: StepFailurePolicy | null }
  | { readonly kind: 'delay' }
  | { readonly kind: 'wait'; readonly expires: boolean }
  | { readonly kind: 'if'; readonly truth: boolean; readonly whenTrue: Shapes; readonly otherwise: Shapes | null }
  | { readonly kind: 'parallel'; readonly branches: readonly Shapes[] }
  | { readonly kind: 'loop'; readonly count: number; readonly concurrency: number | null; readonly body: Shapes }
  | { readonly kind: 'saga'; readonly keeps: boolean; readonly body: Shapes };
export type Shapes = readonly Shape[];

const PREFIXES = { step: 'a', delay: 'delay', wait: 'sig', if: 'if', parallel: 'par', loop: 'each', saga: 'saga' };

/** The same, each with the id that it must get: prefix of the kind and a counter in the order of reading. */
export type Named = Shape & { readonly id: string; readonly parts: readonly (readonly Named[])[] };

export function named(shapes: Shapes, counters = new Map<string, number>()): Named[] {
  return shapes.map((shape) => {
    const prefix = PREFIXES[shape.kind];
    const count = (counters.get(prefix) ?? 0) + 1;
    counters.set(prefix, count);
    return { ...shape, id: `${prefix}${count}`, parts: partsOf(shape).map((part) => named(part, counters)) };
  });
}

function partsOf(shape: Shape): readonly Shapes[] {
  switch (shape.kind) {
    case 'if':
      return shape.otherwise === null ? [shape.whenTrue] : [shape.whenTrue, shape.otherwise];
    case 'parallel':
      return shape.branches;
    case 'loop':
    case 'saga':
      return [shape.body];
    case 'step':
    case 'delay':
    case 'wait':
      return [];
  }
}

/** Which code of the definition throws at present, by id of its node. */
export type BrokenCode = ReadonlySet<string>;

/** The document that the random definitions work on. */
export interface Data {
  readonly truths: Readonly<Record<string, boolean>>;
  readonly lists: Readonly<Record<string, readonly number[]>>;
  readonly done: Record<string, string>;
  readonly undone: Record<string, string>;
  readonly signals: Record<string, boolean>;
}

export function initialData(shapes: readonly Named[]): Data {
  const data: Data = { truths: {}, lists: {}, done: {}, undone: {}, signals: {} };
  for (const shape of everyOne(shapes)) {
    if (shape.kind === 'if') Object.assign(data.truths, { [shape.id]: shape.truth });
    if (shape.kind === 'loop') Object.assign(data.lists, { [shape.id]: Array.from({ length: shape.count }, () => 0) });
  }
  return data;
}

export function everyOne(shapes: readonly Named[]): Named[] {
  return shapes.flatMap((shape) => [shape, ...shape.parts.flatMap(everyOne)]);
}

export class Work {
  execute(): void {}
}
export class Undo {
  execute(): void {}
}
const WORK: ActivityType<Data> = Work;
const UNDO: ActivityType<Data> = Undo;

export function compile(shapes: readonly Named[], broken: BrokenCode): WorkflowGraph {
  return compileGraph<Data>({ id: 'random', version: 1, build: (flow) => build(flow, shapes, broken, false) });
}

type Builder = IWorkflowBuilder<Data> | ISagaBuilder<Data>;

function build(flow: Builder, shapes: readonly Named[], broken: BrokenCode, inSaga: boolean): void {
  for (const shape of shapes) append(flow, shape, broken, inSaga);
}

function append(flow: Builder, shape: Named, broken: BrokenCode, inSaga: boolean): void {
  const bodies = shape.parts.map((part) => (inner: Builder) => build(inner, part, broken, inSaga));
  const [first, second] = bodies;
  const guard = () => failIfBroken(broken, shape.id);
  switch (shape.kind) {
    case 'step':
      flow.then(WORK);
      if (shape.compensated && inSaga) (flow as ISagaBuilder<Data>).compensateWith(UNDO);
      if (shape.onFailure !== null) flow.onFailure(shape.onFailure);
      return;
    case 'delay':
      flow.delay(1000);
      return;
    case 'wait':
      flow.waitForSignal<number>({
        name: shape.id,
        correlate: () => (guard(), 'key'),
        bind: (data, payload) => {
          data.signals[payload] = true; // before it throws: nothing of a failed bind may stay
          guard();
        },
        ...(shape.expires && { timeout: 1000 }),
      });
      return;
    case 'if':
      flow.if((data) => (guard(), data.truths[shape.id]!), first!, second);
      return;
    case 'parallel':
      flow.parallel(...bodies);
      return;
    case 'loop':
      flow.forEach(
        (data) => (guard(), data.lists[shape.id]),
        first!,
        shape.concurrency === null ? {} : { concurrency: shape.concurrency },
      );
      return;
    case 'saga': {
      const body = (inner: Builder) => build(inner, shape.parts[0]!, broken, true);
      if (inSaga)
        (flow as ISagaBuilder<Data>).saga(body, shape.keeps ? NestedSagaPolicy.Keep : NestedSagaPolicy.Unwind);
      else (flow as IWorkflowBuilder<Data>).saga(body);
    }
  }
}

function failIfBroken(broken: BrokenCode, id: string): void {
  if (broken.has(id)) throw new Error(`The code of ${id} is broken.`);
}

const LEAVES = ['step', 'step', 'step', 'step', 'wait', 'wait', 'delay'] as const;
const HOLDERS = ['parallel', 'saga', 'loop', 'parallel', 'saga', 'loop', 'parallel', 'saga', 'if', 'saga'] as const;
/** How many of ten nodes at each depth hold others. */
const HOLDING = [7, 6, 5, 3, 3, 0];
const POLICIES = [null, null, null, 'Suspend', 'Retry', null, null, 'Compensate', 'Terminate'] as const;

/** A random sequence, everything in everything, nested up to five deep. Small choices make small and simple ones. */
export class Growth {
  /** Steps, delays and waits that it may still come to. */
  private left: number;

  constructor(
    private readonly choices: Choices,
    most: number,
  ) {
    this.left = most;
  }

  /** @param times how often what is grown here is run */
  sequence(depth = 0, times = 1): Shapes {
    const length = 1 + this.choices.below(3);
    const grown: Shape[] = [];
    while (grown.length < length) grown.push(this.shape(depth, times));
    return grown;
  }

  private shape(depth: number, times: number): Shape {
    const { choices } = this;
    this.left -= times;
    const holds = this.left >= 0 && choices.below(10) >= 10 - HOLDING[depth]!;
    const kind = choices.of(holds ? HOLDERS : LEAVES);
    switch (kind) {
      case 'step':
        return { kind, compensated: choices.below(4) > 0, onFailure: choices.of(POLICIES) };
      case 'delay':
        return { kind };
      case 'wait':
        return { kind, expires: choices.below(2) > 0 };
      case 'if': {
        const [truth, hasElse] = [choices.below(2) === 0, choices.below(2) > 0];
        const whenTrue = this.sequence(depth + 1, truth ? times : 0);
        return { kind, truth, whenTrue, otherwise: hasElse ? this.sequence(depth + 1, truth ? 0 : times) : null };
      }
      case 'parallel': {
        const branches = Array.from({ length: 2 + choices.below(2) }, () => this.sequence(depth + 1, times));
        return { kind, branches };
      }
      case 'loop': {
        const [count, concurrency] = [choices.of([2, 1, 3, 0, 4]), choices.of([null, 1, 2, 3])];
        return { kind, count, concurrency, body: this.sequence(depth + 1, times * count) };
      }
      case 'saga':
        return { kind, keeps: choices.below(3) === 0, body: this.sequence(depth + 1, times) };
    }
  }
}
