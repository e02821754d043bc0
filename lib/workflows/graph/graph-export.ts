import { storable } from '../../model/failure-text';
import type { ActivityReference, GraphNode, WorkflowGraph } from './graph';

/** A graph as it is stored and shown: plain JSON, with the source text of its functions and nothing that runs. */
export interface ExportedGraph {
  readonly definitionId: string;
  readonly version: number;
  readonly start: string;
  readonly nodes: readonly ExportedNode[];
}

/** One node; what does not apply to its kind, or holds nothing, is left out. */
export interface ExportedNode {
  readonly id: string;
  readonly kind: GraphNode['kind'];
  readonly next?: string;
  readonly activity?: string;
  readonly compensation?: string;
  readonly onFailure?: string;
  readonly queue?: string;
  /** Source text. */
  readonly condition?: string;
  readonly whenTrue?: string;
  readonly whenFalse?: string;
  readonly branches?: readonly string[];
  /** Source text. */
  readonly collection?: string;
  readonly concurrency?: number;
  readonly body?: string;
  /** Milliseconds. */
  readonly delay?: number;
  readonly signalName?: string;
  /** Source text. */
  readonly correlate?: string;
  /** Source text. */
  readonly bind?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly policy?: string;
}

/** The graph as plain JSON, its nodes in build order. */
export function exportGraph(graph: WorkflowGraph): ExportedGraph {
  const { definitionId, version, start } = graph;
  return { definitionId, version, start, nodes: [...graph.nodes.values()].map(exportNode) };
}

function exportNode(node: GraphNode): ExportedNode {
  const entries = Object.entries({ id: node.id, kind: node.kind, next: node.next, ...detailsOf(node) });
  return Object.fromEntries(entries.filter(([, value]) => value !== null)) as unknown as ExportedNode;
}

function detailsOf(node: GraphNode): Record<string, unknown> {
  switch (node.kind) {
    case 'Activity': {
      const { activity, compensation, onFailure } = node;
      return { ...stepOf(activity), compensation: compensation?.name ?? null, onFailure };
    }
    case 'If':
      return { condition: sourceOf(node.condition), whenTrue: node.whenTrue, whenFalse: node.whenFalse };
    case 'Parallel':
      return { branches: node.branches };
    case 'ForEach':
      return { collection: sourceOf(node.collection), concurrency: node.concurrency, body: node.body };
    case 'Delay':
      return { delay: node.duration };
    case 'WaitForSignal':
      return {
        signalName: node.signalName,
        correlate: sourceOf(node.correlate),
        bind: sourceOf(node.bind),
        timeout: node.timeout,
      };
    case 'Saga':
      return { body: node.body, policy: node.policy };
  }
}

function stepOf({ name, queue, timeout }: ActivityReference): Record<string, unknown> {
  return { activity: name, queue, timeout };
}

function sourceOf(code: (...args: never[]) => unknown): string {
  return storable(Function.prototype.toString.call(code));
}
