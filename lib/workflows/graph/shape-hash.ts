import { createHash } from 'node:crypto';
import type { GraphNode, WorkflowGraph } from './graph';

/**
 * Tells whether a stored cursor still fits a graph: SHA-256, in hex, over what a cursor depends on.
 *
 * Covered: kinds, ids, edges, recorded names of activities and compensations, signal names, saga nesting and policies.
 * Not covered: source text, retries, queues, timeouts, delays, concurrency; a mere rebuild does not change it.
 */
export function shapeHash(graph: WorkflowGraph): string {
  // A format: hashes are stored. Arrays, so that no order of keys matters.
  const shape = ['1', graph.start, [...graph.nodes.values()].map((node) => [node.id, node.next, ...shapeOf(node)])];
  return createHash('sha256').update(JSON.stringify(shape)).digest('hex');
}

function shapeOf(node: GraphNode): unknown[] {
  switch (node.kind) {
    case 'Activity':
      return ['Activity', node.activity.name, node.compensation?.name ?? null, node.onFailure];
    case 'If':
      return ['If', node.whenTrue, node.whenFalse];
    case 'Parallel':
      return ['Parallel', node.branches];
    case 'ForEach':
      return ['ForEach', node.body];
    case 'Delay':
      return ['Delay'];
    case 'WaitForSignal':
      return ['WaitForSignal', node.signalName];
    case 'Saga':
      return ['Saga', node.body, node.policy];
  }
}
