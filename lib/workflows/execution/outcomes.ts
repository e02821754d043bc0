import { StepFailurePolicy } from '../graph/graph';
import { FinalReason } from './cursor';
import { mergeDocument } from './merge-document';
import type { Move } from './move';
import { type Position, positionText, type ScopePath, scopeOf } from './position';
import { dropUndone, noteCompleted, undoingOf, undoNext } from './undo';
import { bodyOf, drained, drainOf, failAround, failWithoutUndoing, unwound } from './unwind';
import { parkDelivery } from './waits';
import { goOn } from './walk';
import type { WorkflowEvent } from './workflow-event';

export type EventOf<Kind extends WorkflowEvent['kind']> = Extract<WorkflowEvent, { kind: Kind }>;

// What the end of a job makes of its instance. Each answers whether anything has moved.

/** A step, a delay or a compensation is done. */
export function finished(move: Move, { position, jobId, document }: EventOf<'finished'>): boolean {
  const scope = drainOf(move, jobId);
  if (scope === undefined && !isOpen(move, position)) return false;
  move.active--;
  if (document !== null) move.data = mergeDocument(document.before, document.after, move.data);
  if (scope !== undefined) {
    if (position.undo) dropUndone(move, position);
    else noteCompleted(move, position);
    drained(move, scope, jobId, position, true);
  } else if (position.undo) undone(move, position);
  else {
    noteCompleted(move, position);
    goOn(move, move.node(position.node).next, position.path);
  }
  return true;
}

/** A step is undone, or an operator has said to take it as undone: the next one follows, if it was this one's turn. */
export function undone(move: Move, position: Position): void {
  const key = undoingOf(move, position);
  dropUndone(move, position);
  if (key !== undefined && undoNext(move, key) === 'nothing') unwound(move, key);
}

/** A step, a delay, a compensation or the delivery of a signal is dead. */
export function failed(move: Move, event: EventOf<'failed'>): boolean {
  const { position, jobId, error, payload } = event;
  const node = move.node(position.node);
  if (node.kind === 'WaitForSignal') {
    return endedWithout(move, position, jobId) || parkDelivery(move, position, error, payload);
  }
  if (endedWithout(move, position, jobId)) return true;
  if (!isOpen(move, position)) return false;
  move.active--;
  if (position.undo) move.park('compensation', position, error);
  else applyPolicy(move, position, node.kind === 'Activity' ? node.onFailure : StepFailurePolicy.Retry, error);
  return true;
}

function applyPolicy(move: Move, position: Position, policy: StepFailurePolicy, error: string): void {
  if (policy === StepFailurePolicy.Suspend) return move.park('step', position, error);
  move.fail(position, error);
  if (policy === StepFailurePolicy.Terminate) failWithoutUndoing(move, FinalReason.Terminated);
  else failAround(move, position);
}

/** A job has ended and nothing has come of it. Only a scope that waits for its end is concerned. */
export function endedWithout(move: Move, position: Position, jobId: EventOf<'stopped'>['jobId']): boolean {
  const scope = drainOf(move, jobId);
  if (scope === undefined) return false;
  if (move.node(position.node).kind !== 'WaitForSignal') move.active--;
  drained(move, scope, jobId, position, false);
  return true;
}

/** Whether something at this place can still end: a compensation whose turn it is, or a step in a scope that goes on. */
function isOpen(move: Move, position: Position): boolean {
  if (position.undo) return undoingOf(move, position) !== undefined;
  return isEnclosed(move, position.path) && !isEnding(move, position.path);
}

function isEnclosed(move: Move, path: ScopePath): boolean {
  return path.every(([node], depth) => move.frames[positionText({ node, path: path.slice(0, depth) })] !== undefined);
}

function isEnding(move: Move, path: ScopePath): boolean {
  if (!move.isUnwinding()) return false;
  const scope = scopeOf(path);
  return Object.keys(move.unwinding).some((key) => scope.startsWith(scopeOf(bodyOf(key))));
}
