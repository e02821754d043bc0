import type { JobId } from '../../model/ids';
import type { RunningStep } from '../../model/workflow-instance';
import { type Ending, FinalReason, type Stopped } from './cursor';
import type { Move } from './move';
import { decodePosition, parsePosition, type Position, positionText, scopeOf, type ScopePath } from './position';
import { undoNext } from './undo';
import { completedIn, sagaAround } from './walk';

// How a scope fails: what waits in it is cancelled, what runs in it is let finish, and then what it and the sagas below it
// have completed is undone. Its frames stay until then, so that what still finishes is noted where it belongs.

/** The key under which the instance itself unwinds, as a saga does under its own. */
export const INSTANCE = '';

/** Fails what encloses a place: the innermost saga, or the instance where there is none. */
export function failAround(move: Move, position: Position): void {
  const saga = sagaAround(move, position.path);
  if (saga !== null) return begin(move, saga, null, false);
  move.stopped = { again: [positionText(position)], after: [], parked: [] };
  begin(move, INSTANCE, { outcome: 'Failed', undoes: true, final: null }, false);
}

/** Ends the instance as failed; what is not undone yet stands. */
export function failWithoutUndoing(move: Move, final: FinalReason): void {
  begin(move, INSTANCE, { outcome: 'Failed', undoes: false, final }, false);
}

/** A saga has nothing more to undo: it fails what is around it, and the instance has ended. */
export function unwound(move: Move, key: string): void {
  const unwinding = move.unwinding[key];
  delete move.unwinding[key];
  delete move.frames[key];
  const { undone = false, ending = null } = unwinding ?? {};
  if (ending !== null) {
    move.final = ending.final;
    return move.end(ending.outcome);
  }
  const outer = sagaAround(move, parsePosition(key).path);
  if (outer !== null) return begin(move, outer, null, undone);
  const hadSomething = undone || Object.values(move.unwinding).some((other) => other.undone);
  const outcome = hadSomething ? 'Compensated' : 'Failed';
  begin(move, INSTANCE, { outcome, undoes: true, final: FinalReason.Saga }, undone);
}

/** @param undone something has been undone on the way here */
function begin(move: Move, key: string, ending: Ending | null, undone: boolean): void {
  const path = bodyOf(key);
  const idle = move.isIdle();
  const inner = Object.keys(move.unwinding).filter((other) => other === key || isWithin(other, path));
  const wasUndone = undone || inner.some((other) => move.unwinding[other]?.undone);
  for (const other of inner) delete move.unwinding[other];
  // What a saga that is being undone has cancelled cannot be begun again.
  const final = ending?.final ?? (key === INSTANCE && inner.length > 0 ? FinalReason.Undone : null);
  if (final !== null) move.stopped = null;
  const parked = dropParked(move, path, ending === null || ending.undoes);
  const waits = idle ? [] : move.endWaitsIn(path);
  if (key === INSTANCE) remember(move, { again: waits, parked });
  if (key !== INSTANCE || move.stopped === null)
    forgetWithin(move, key, (other) => completedIn(move, other).length === 0);
  const stage = 'cancelling';
  move.unwinding[key] = { stage, running: [], undone: wasUndone, ending: ending && { ...ending, final } };
  if (idle) undo(move, key);
  else move.cancel = { scopes: [scopeOf(path)], running: 'finish' };
}

/** The cancellation of a scope has been carried out. */
export function cancelled(move: Move, stillRunning: readonly RunningStep[], gone: readonly RunningStep[]): boolean {
  const found = Object.entries(move.unwinding).find(([, { stage }]) => stage === 'cancelling');
  if (found === undefined) return false;
  const [key, unwinding] = found;
  const positions = gone.flatMap(({ position }) => (position === null ? [] : [decodePosition(position)]));
  const steps = positions.filter((position) => !isWait(move, position));
  move.active -= steps.length;
  if (key === INSTANCE) remember(move, { again: steps.map(positionText) });
  const running = stillRunning.map(({ id }) => id);
  move.unwinding[key] = { ...unwinding, stage: 'draining', running };
  if (running.length === 0) undo(move, key);
  return true;
}

/** The key of the scope that waits for the end of this job; undefined when none does. */
export function drainOf(move: Move, jobId: JobId): string | undefined {
  return Object.keys(move.unwinding).find((key) => move.unwinding[key]?.running.includes(jobId));
}

/** A job has ended that a scope has waited for. */
export function drained(move: Move, key: string, jobId: JobId, position: Position, completed: boolean): void {
  const unwinding = move.unwinding[key];
  if (unwinding === undefined) return;
  // A wait that was being resumed was remembered when it was ended.
  if (key === INSTANCE && !isWait(move, position)) {
    remember(move, { [completed ? 'after' : 'again']: [positionText(position)] });
  }
  const running = unwinding.running.filter((id) => id !== jobId);
  move.unwinding[key] = { ...unwinding, running };
  if (running.length === 0) undo(move, key);
}

/** Nothing runs in the scope any more: what is to be undone there becomes one list, innermost first from its end. */
function undo(move: Move, key: string): void {
  const unwinding = move.unwinding[key];
  if (unwinding === undefined) return;
  const { ending } = unwinding;
  const path = bodyOf(key);
  const inner = Object.keys(move.frames).filter((other) => other !== key && isWithin(other, path));
  const sagas = [key, ...inner.toSorted((a, b) => depthOf(a) - depthOf(b))];
  const completed = ending?.undoes === false ? [] : sagas.flatMap((saga) => completedIn(move, saga));
  const undone = unwinding.undone || completed.length > 0;
  let kept = ending;
  if (ending !== null && undone) {
    move.stopped = null;
    kept = { ...ending, final: ending.final ?? FinalReason.Undone };
  }
  if (key !== INSTANCE || move.stopped === null) forgetWithin(move, key, () => true);
  move.frames[key] = { kind: 'saga', completed };
  move.unwinding[key] = { stage: 'compensating', running: [], undone, ending: kept };
  if (undoNext(move, key) === 'nothing') unwound(move, key);
}

/** Frames in a scope that ends, as far as nothing is to be undone of them: they will not be closed any more. */
function forgetWithin(move: Move, key: string, isForgotten: (frame: string) => boolean): void {
  const path = bodyOf(key);
  for (const other of Object.keys(move.frames)) {
    if (other !== key && isWithin(other, path) && isForgotten(other)) delete move.frames[other];
  }
}

/**
 * Takes what is parked within a scope off the list. A compensation stays if it is to run all the same: an operator has to
 * decide about it.
 */
function dropParked(move: Move, path: ScopePath, undoes: boolean): Stopped['parked'] {
  const scope = scopeOf(path);
  const dropped = move.parked.filter(
    ({ reason, position }) => scopeOf(position.path).startsWith(scope) && !(undoes && reason === 'compensation'),
  );
  if (dropped.length > 0) move.parked = move.parked.filter((parked) => !dropped.includes(parked));
  return dropped;
}

/** For the case that the instance is reopened. */
function remember(move: Move, more: Partial<Stopped>): void {
  if (move.stopped === null) return;
  const { again, after, parked } = move.stopped;
  move.stopped = {
    again: [...again, ...(more.again ?? [])],
    after: [...after, ...(more.after ?? [])],
    parked: [...parked, ...(more.parked ?? [])],
  };
}

/** The scope that unwinds under a key: the body of the saga, the root for the instance. */
export function bodyOf(key: string): ScopePath {
  if (key === INSTANCE) return [];
  const { node, path } = parsePosition(key);
  return [...path, [node, 0]];
}

/** Whether the node of a key stands in a scope. */
function isWithin(key: string, path: ScopePath): boolean {
  return key !== INSTANCE && key.startsWith(scopeOf(path));
}

function depthOf(key: string): number {
  return key.split('/').length;
}

function isWait(move: Move, { node }: Position): boolean {
  return move.node(node).kind === 'WaitForSignal';
}
