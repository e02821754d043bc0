import type { Move } from './move';
import type { Position } from './position';
import { bound } from './user-code';
import { goOn } from './walk';
import type { SignalPayload } from './workflow-event';

/** A wait is over. False when it is none any more: its scope has ended, or the signal comes twice. */
export function resume(move: Move, position: Position, payload: SignalPayload): boolean {
  if (!move.takeWait(position)) return false;
  deliver(move, position, payload);
  return true;
}

/** Writes the payload into the document and goes on behind the wait; code that throws parks it, with the payload. */
export function deliver(move: Move, position: Position, payload: SignalPayload): void {
  const node = move.node(position.node);
  if (payload !== null && node.kind === 'WaitForSignal') {
    const answer = bound(node, move.data, payload.value);
    if ('error' in answer) return move.park('code', position, answer.error, payload);
    move.data = answer.value;
  }
  goOn(move, node.next, position.path);
}

/** The signal was consumed and could not be delivered: its payload is kept for an operator. */
export function parkDelivery(move: Move, position: Position, error: string, payload: SignalPayload): boolean {
  if (!move.takeWait(position)) return false;
  move.park('resume', position, error, payload);
  return true;
}
