import { isInstanceTerminal } from '../../model/workflow-instance';
import type { WorkflowGraph } from '../graph/graph';
import { decide } from './decisions';
import { Move } from './move';
import { endedWithout, failed, finished } from './outcomes';
import { reopen } from './reopen';
import { cancelled } from './unwind';
import { parkDelivery, resume } from './waits';
import { goOn } from './walk';
import type { WorkflowEvent } from './workflow-event';
import type { Progress, WorkflowState } from './workflow-state';

/**
 * Decides how an instance moves on. Pure: the same arguments give the same answer, and none of them is changed.
 *
 * @returns null when nothing moves: the event is about something that is over, or the instance has ended
 * @throws {InvalidDecisionError} an operator's decision that is ambiguous, or not to be had there
 * @throws {WorkflowNotRetryableError} it cannot be reopened
 */
export function advance(graph: WorkflowGraph, current: WorkflowState, event: WorkflowEvent): Progress | null {
  const hasEnded = isInstanceTerminal(current.state);
  if (hasEnded !== (event.kind === 'reopened')) return null;
  const move = new Move(graph, current);
  return moved(move, current, event) ? move.progress() : null;
}

function moved(move: Move, current: WorkflowState, event: WorkflowEvent): boolean {
  switch (event.kind) {
    case 'started':
      goOn(move, move.graph.start, []);
      return true;
    case 'finished':
      return finished(move, event);
    case 'failed':
      return failed(move, event);
    case 'stopped':
      return endedWithout(move, event.position, event.jobId);
    case 'resumed':
      return endedWithout(move, event.position, event.jobId) || resume(move, event.position, event.payload);
    case 'refused':
      return (
        endedWithout(move, event.position, event.jobId) ||
        parkDelivery(move, event.position, event.error, event.payload)
      );
    case 'decided':
      return decide(move, event.decision);
    case 'cancelled':
      // Nothing is undone, and what runs is asked to stop.
      move.cancel = { scopes: [''], running: 'abort' };
      move.endAtOnce('Cancelled');
      return true;
    case 'reopened':
      reopen(move, current);
      return true;
    case 'scopesCancelled':
      return cancelled(move, event.stillRunning, event.cancelled);
  }
}
