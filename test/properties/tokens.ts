import assert from 'node:assert/strict';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import type { Cursor } from '../../lib/workflows/execution/cursor';
import { positionText } from '../../lib/workflows/execution/position';
import type { WorkflowState } from '../../lib/workflows/execution/workflow-state';
import { type ModelStore, placeOf } from './model-store';
import { bodyScope, isBelow } from './oracle';

/** What is open according to the store is what is open according to the cursor, one thing in each open sequence. */
export function checkTokens({ state, cursor }: WorkflowState, store: ModelStore): void {
  const jobs = store.open();
  const steps = jobs.filter(({ kind }) => kind !== 'resume');
  const resumes = jobs.filter(
    ({ kind, closing, cancelRequested }) => kind === 'resume' && !closing && !cancelRequested,
  );
  if (isInstanceTerminal(state)) return checkEnded(state, cursor, store);

  assert.equal(cursor.active, steps.length, 'open jobs');
  const waits = [...store.bookmarks, ...resumes].map((wait) => positionText(placeOf(wait)));
  assert.deepEqual([...cursor.waits].toSorted(), waits.toSorted(), 'open waits');
  const isSuspended = cursor.parked.length > 0 || (cursor.active === 0 && cursor.waits.length > 0);
  assert.equal(state, isSuspended ? 'Suspended' : 'Running');
  assert.ok(jobs.length + waits.length + cursor.parked.length > 0, 'nothing is open, and it has not ended');

  for (const key of Object.keys(cursor.unwinding)) checkUnwinding(key, cursor, store);
  if (cursor.unwinding[''] === undefined)
    checkStructure(
      cursor,
      steps.map((job) => positionText(placeOf(job))),
    );
}

function checkEnded(state: string, cursor: Cursor, store: ModelStore): void {
  const { frames, waits, parked, active, unwinding, stopped } = cursor;
  const open = store.open().filter(({ cancelRequested }) => !cancelRequested);
  assert.deepEqual(open, [], `jobs are open, and it is ${state}`);
  assert.deepEqual(store.bookmarks, [], `bookmarks are left, and it is ${state}`);
  assert.deepEqual({ waits, parked, active, unwinding }, { waits: [], parked: [], active: 0, unwinding: {} });
  if (stopped === null) assert.deepEqual(frames, {});
  else assert.equal(state, 'Failed');
}

function checkUnwinding(key: string, { unwinding, parked, frames }: Cursor, store: ModelStore): void {
  const { stage, running } = unwinding[key]!;
  const jobs = store.open().filter(({ scope }) => scope.startsWith(bodyScope(key)));
  const others = Object.keys(unwinding).filter((other) => isBelow(other, key));
  assert.deepEqual(others, [], `${key} and what is within it unwind apart`);
  if (stage === 'draining') {
    assert.deepEqual(jobs.map(({ id }) => id).toSorted(), running.toSorted(), `what ${key} waits for`);
    assert.ok(running.length > 0, `${key} waits for nothing`);
    assert.ok(jobs.every(({ closing }) => closing));
    return;
  }
  assert.equal(stage, 'compensating', `a transaction has ended while ${key} is ${stage}`);
  const frame = frames[key];
  assert.ok(frame?.kind === 'saga');
  const next = frame.completed.at(-1);
  assert.ok(next !== undefined, `${key} has nothing to undo and does not end`);
  const isParked = parked.some(({ reason, position }) => reason === 'compensation' && positionText(position) === next);
  const compensations = jobs.map((job) => (job.kind === 'undo' ? positionText(placeOf(job)) : job.position));
  assert.deepEqual(compensations, isParked ? [] : [next], `compensations of ${key}`);
}

/** Leaves and frames form a tree: each open sequence has exactly one thing open in it. A saga that unwinds counts as one. */
function checkStructure({ frames, waits, parked, unwinding }: Cursor, steps: readonly string[]): void {
  const isEnding = (at: string) => Object.keys(unwinding).some((key) => isBelow(at, key));
  const leaves = [...steps, ...waits, ...parked.map(({ position }) => positionText(position))];
  const things = [...leaves.filter((at) => !isEnding(at)), ...Object.keys(frames).filter((key) => !isEnding(key))];
  const sequences = things.map((at) => at.slice(0, at.lastIndexOf('/') + 1));
  assert.equal(new Set(sequences).size, sequences.length, `two things are open in one sequence: ${things.join(' ')}`);
  let open = 1;
  for (const [key, frame] of Object.entries(frames)) {
    if (isEnding(key) || unwinding[key] !== undefined) continue;
    open += frame.kind === 'saga' ? 1 : frame.open;
  }
  assert.equal(things.length, open, `things that are open: ${things.join(' ')}`);
  for (const sequence of sequences) assert.ok(isHeld(sequence, frames), `nothing holds ${sequence}`);
}

function isHeld(sequence: string, frames: Cursor['frames']): boolean {
  const parts = sequence.split('/').slice(0, -1);
  return parts.every((_, depth) => {
    const holder = parts.slice(0, depth + 1).join('/');
    return frames[holder.slice(0, holder.lastIndexOf('.'))] !== undefined;
  });
}
