import { checkedName } from '../../model/names';
import { type ActivityNaming, BuildScope } from './build-scope';
import type { Draft, Sequence } from './draft';
import { type GraphNode, StepFailurePolicy, type WorkflowGraph } from './graph';
import { refuseResult } from './sequence-builder';
import { WorkflowBuilder, type WorkflowBody } from './workflow-builder';

/** A definition as far as its graph depends on it. */
export interface GraphSource<TData> {
  /** Stable, up to 128 characters. */
  readonly id: string;
  /** 1 or more; higher whenever the shape changes. */
  readonly version: number;
  readonly build: WorkflowBody<TData>;
}

/**
 * Runs `build` once and makes an immutable graph of it. The same build gives the same ids in every process.
 *
 * @param nameOf recorded name of an activity class; default its name
 * @throws {WorkflowDefinitionError} anything is wrong with the definition; it names the workflow and the step
 */
export function compileGraph<TData>(
  source: GraphSource<TData>,
  nameOf: ActivityNaming = ({ name }) => name,
): WorkflowGraph {
  const scope = new BuildScope(`${source.id}@${source.version}`, nameOf);
  checkKey(source, scope);
  const builder = new WorkflowBuilder<TData>(scope);
  try {
    refuseResult(scope, source.build(builder), 'build()', null);
  } finally {
    scope.close();
  }
  const linked = new Map<string, GraphNode>();
  const start = link(builder.collected(), null, linked);
  if (start === null) throw scope.error('it has no steps. Begin build() with flow.startWith(SomeActivity).', null);
  const nodes = new Map(scope.ids.flatMap((id) => entryOf(linked, id)));
  return Object.freeze({ definitionId: source.id, version: source.version, start, nodes });
}

/** None for a step that was refused where build() caught the error. */
function entryOf(linked: ReadonlyMap<string, GraphNode>, id: string): [string, GraphNode][] {
  const node = linked.get(id);
  return node === undefined ? [] : [[id, Object.freeze(node)]];
}

function checkKey<TData>({ id, version }: GraphSource<TData>, scope: BuildScope): void {
  try {
    checkedName(id, 'workflow id');
  } catch (error) {
    throw scope.error((error as Error).message, null, error);
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    throw scope.error(`expected its version to be a whole number of 1 or more, got ${String(version)}.`, null);
  }
}

/**
 * Links a sequence from its end and answers its entry. The arms of an `if` go on where the `if` does; branches, bodies and
 * sagas end, and what encloses them goes on.
 */
function link(sequence: Sequence, exit: string | null, nodes: Map<string, GraphNode>): string | null {
  let next = exit;
  for (const draft of sequence.toReversed()) {
    nodes.set(draft.id, nodeOf(draft, next, nodes));
    next = draft.id;
  }
  return next;
}

function nodeOf(draft: Draft, next: string | null, nodes: Map<string, GraphNode>): GraphNode {
  const body = (sequence: Sequence): string => link(sequence, null, nodes) ?? ''; // builders refuse an empty one
  switch (draft.kind) {
    case 'Activity':
      return { ...draft, next, onFailure: draft.onFailure ?? StepFailurePolicy.Retry };
    case 'If':
      return {
        ...draft,
        next,
        whenTrue: link(draft.whenTrue, next, nodes),
        whenFalse: link(draft.whenFalse, next, nodes),
      };
    case 'Parallel':
      return { ...draft, next, branches: Object.freeze(draft.branches.map(body)) };
    case 'ForEach':
    case 'Saga':
      return { ...draft, next, body: body(draft.body) };
    case 'Delay':
    case 'WaitForSignal':
      return { ...draft, next };
  }
}
