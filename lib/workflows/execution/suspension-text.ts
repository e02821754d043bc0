import type { WorkflowGraph } from '../graph/graph';
import type { ParkedPosition } from './cursor';
import { type Position, positionText } from './position';

/** Why an instance is Suspended, as a sentence for people. */
export function suspensionText(
  graph: WorkflowGraph,
  parked: readonly ParkedPosition[],
  waits: readonly Position[],
): string {
  const [first, ...others] = parked;
  if (first === undefined) return `Waits for ${signalsOf(graph, waits)}.`;
  const more = others.length === 0 ? '' : ` (${others.length} more parked)`;
  const [headline] = first.error.split('\n', 1);
  return `${whatIsParked(graph, first)}: ${headline}${more}`;
}

function signalsOf({ nodes }: WorkflowGraph, waits: readonly Position[]): string {
  const names = waits.map(({ node }) => {
    const wait = nodes.get(node);
    return wait?.kind === 'WaitForSignal' ? `signal "${wait.signalName}"` : node;
  });
  return [...new Set(names)].join(', ');
}

function whatIsParked({ nodes }: WorkflowGraph, { reason, position }: ParkedPosition): string {
  const node = nodes.get(position.node);
  const activity = node?.kind === 'Activity' ? node : null;
  const place = positionText(position);
  switch (reason) {
    case 'compensation':
      return `The compensation ${activity?.compensation?.name ?? ''} of ${place} has failed`;
    case 'step':
      return `The step ${activity?.activity.name ?? ''} at ${place} has failed`;
    case 'resume':
      return `The signal for ${place} could not be delivered`;
    case 'code':
      return `The code of ${place} has failed`;
  }
}
