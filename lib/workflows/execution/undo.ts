import type { Move } from './move';
import { parsePosition, type Position, positionText } from './position';
import { addCompleted, completedIn, sagaAround } from './walk';

/** Notes a step that has a compensation for the saga around it. */
export function noteCompleted(move: Move, position: Position): void {
  const node = move.node(position.node);
  if (node.kind !== 'Activity' || node.compensation === null) return;
  const saga = sagaAround(move, position.path);
  if (saga !== null) addCompleted(move, saga, [positionText(position)]);
}

/** The key of the scope whose next step to undo this is; undefined when it is none's turn. */
export function undoingOf(move: Move, position: Position): string | undefined {
  const text = positionText(position);
  return Object.keys(move.unwinding).find(
    (key) => move.unwinding[key]?.stage === 'compensating' && completedIn(move, key).at(-1) === text,
  );
}

/** Takes a step off the list that it stands on: it is undone, or an operator has said to take it as undone. */
export function dropUndone(move: Move, position: Position): void {
  const text = positionText(position);
  for (const [key, frame] of Object.entries(move.frames)) {
    if (frame.kind !== 'saga') continue;
    const index = frame.completed.lastIndexOf(text);
    if (index < 0) continue;
    move.frames[key] = { kind: 'saga', completed: frame.completed.toSpliced(index, 1) };
    return;
  }
}

/** Undoes the next step of a scope; one whose compensation is parked has to be decided about first. */
export function undoNext(move: Move, key: string): 'started' | 'parked' | 'nothing' {
  const next = completedIn(move, key).at(-1);
  if (next === undefined) return 'nothing';
  const isNext = ({ reason, position }: Move['parked'][number]) =>
    reason === 'compensation' && positionText(position) === next;
  if (move.parked.some(isNext)) return 'parked';
  move.startStep({ position: { ...parsePosition(next), undo: true }, delay: null });
  return 'started';
}
