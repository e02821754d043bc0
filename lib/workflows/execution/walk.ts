import { MAX_OPEN_ITERATIONS } from '../graph/graph';
import type { Frame } from './cursor';
import type { Move } from './move';
import { type Position, positionText, type ScopePath } from './position';
import { conditionOf, correlationOf, countOf } from './user-code';

/** A place that the walk has come to; without a node, the end of its sequence. */
interface Place {
  readonly node: string | null;
  readonly path: ScopePath;
}

/**
 * Goes on from a place until everything that is open waits for something: a job, a signal, an operator. A list of places
 * instead of recursion: a loop over ten thousand items that hold nothing comes back ten thousand times.
 */
export function goOn(move: Move, node: string | null, path: ScopePath): void {
  const places: Place[] = [{ node, path }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const reached = place.node === null ? close(move, place.path) : enter(move, { node: place.node, path: place.path });
    for (let index = reached.length - 1; index >= 0; index--) places.push(reached[index] as Place);
  }
}

const NOWHERE: readonly Place[] = [];

function enter(move: Move, position: Position): readonly Place[] {
  const { path } = position;
  const node = move.node(position.node);
  switch (node.kind) {
    case 'Activity':
      move.startStep({ position, delay: null });
      return NOWHERE;
    case 'Delay':
      move.startStep({ position, delay: node.duration });
      return NOWHERE;
    case 'WaitForSignal': {
      const answer = correlationOf(node, move.data);
      if ('error' in answer) return parked(move, position, answer.error);
      const { signalName, timeout } = node;
      move.startWait({ position, signalName, correlationId: answer.value, timeout });
      return NOWHERE;
    }
    case 'If': {
      const answer = conditionOf(node, move.data);
      if ('error' in answer) return parked(move, position, answer.error);
      return [{ node: answer.value ? node.whenTrue : node.whenFalse, path }];
    }
    case 'Parallel':
      open(move, position, { kind: 'parallel', open: node.branches.length });
      return node.branches.map((branch, index) => ({ node: branch, path: within(path, node.id, index) }));
    case 'ForEach': {
      const answer = countOf(node, move.data);
      if ('error' in answer) return parked(move, position, answer.error);
      const count = answer.value;
      if (count === 0) return [{ node: node.next, path }];
      const opened = Math.min(node.concurrency, MAX_OPEN_ITERATIONS, count);
      open(move, position, { kind: 'loop', count, opened, open: opened });
      return Array.from({ length: opened }, (_, index) => ({ node: node.body, path: within(path, node.id, index) }));
    }
    case 'Saga':
      open(move, position, { kind: 'saga', completed: [] });
      return [{ node: node.body, path: within(path, node.id, 0) }];
  }
}

function open(move: Move, position: Position, frame: Frame): void {
  move.frames[positionText(position)] = frame;
}

function within(path: ScopePath, node: string, index: number): ScopePath {
  return [...path, [node, index]];
}

function parked(move: Move, position: Position, error: string): readonly Place[] {
  move.park('code', position, error);
  return NOWHERE;
}

/** A sequence has come to its end: what holds it goes on, when it was the last that it waited for. */
function close(move: Move, path: ScopePath): readonly Place[] {
  const part = path.at(-1);
  if (part === undefined) {
    move.end('Completed');
    return NOWHERE;
  }
  const outer = path.slice(0, -1);
  const node = move.node(part[0]);
  const key = positionText({ node: node.id, path: outer });
  const frame = move.frames[key];
  if (frame === undefined) throw new Error(`Nothing is open at ${key}.`);
  if (frame.kind === 'loop' && node.kind === 'ForEach' && frame.opened < frame.count) {
    move.frames[key] = { ...frame, opened: frame.opened + 1 };
    return [{ node: node.body, path: within(outer, node.id, frame.opened) }];
  }
  if (frame.kind !== 'saga' && frame.open > 1) {
    move.frames[key] = { ...frame, open: frame.open - 1 };
    return NOWHERE;
  }
  if (frame.kind === 'saga' && node.kind === 'Saga' && node.policy === 'Unwind') handOut(move, outer, frame.completed);
  delete move.frames[key];
  return [{ node: node.next, path: outer }];
}

/** What a committed saga has completed is undone with the saga around it, at this place in its order. */
function handOut(move: Move, outer: ScopePath, steps: readonly string[]): void {
  const saga = sagaAround(move, outer);
  if (saga !== null && steps.length > 0) addCompleted(move, saga, steps);
}

/** Notes what a saga has to undo when it fails. */
export function addCompleted(move: Move, saga: string, steps: readonly string[]): void {
  move.frames[saga] = { kind: 'saga', completed: [...completedIn(move, saga), ...steps] };
}

export function completedIn(move: Move, saga: string): readonly string[] {
  const frame = move.frames[saga];
  return frame?.kind === 'saga' ? frame.completed : [];
}

/** The key of the innermost saga that a path lies in; null outside of any. */
export function sagaAround(move: Move, path: ScopePath): string | null {
  for (let depth = path.length; depth > 0; depth--) {
    const node = path[depth - 1]?.[0] ?? '';
    if (move.node(node).kind === 'Saga') return positionText({ node, path: path.slice(0, depth - 1) });
  }
  return null;
}
