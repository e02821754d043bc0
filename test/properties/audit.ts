import assert from 'node:assert/strict';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import { type Cursor, decodeCursor, encodeCursor } from '../../lib/workflows/execution/cursor';
import { type Position, positionText } from '../../lib/workflows/execution/position';
import type { WorkflowEvent } from '../../lib/workflows/execution/workflow-event';
import type { Progress, WorkflowState } from '../../lib/workflows/execution/workflow-state';
import { Books } from './books';
import { type ModelStore, placeOf } from './model-store';
import { bodyScope, everything, isBelow } from './oracle';
import type { BrokenCode, Data, Named } from './random-graph';
import { checkTokens } from './tokens';

/** Compares what the engine says and asks for with the books and with what is in the store. */
export class Audit {
  private readonly expected: ReadonlySet<string>;
  private readonly books: Books;

  constructor(
    definition: readonly Named[],
    broken: BrokenCode,
    private readonly store: ModelStore,
  ) {
    this.expected = new Set(everything(definition));
    this.books = new Books(definition, broken, store.jobs);
  }

  get mayBeReopened(): boolean {
    return this.books.final === null;
  }

  /** Sees each call of the engine. */
  observe(current: WorkflowState, event: WorkflowEvent, progress: Progress | null): void {
    if (progress === null) return;
    assert.ok(
      !isInstanceTerminal(current.state) || event.kind === 'reopened',
      `it had ended, and ${event.kind} moved it`,
    );
    assert.ok(event.kind !== 'reopened' || this.mayBeReopened, `it was reopened though ${this.books.final}`);
    this.books.note(current, event, progress.next);
    if (event.kind !== 'decided' && !this.books.undoesNothing) checkParkedCompensations(current, progress.next);
    for (const { position } of progress.steps) {
      if (position.undo) this.checkUndo(position, progress.next.cursor);
      else this.checkFresh(position);
    }
    for (const { position } of progress.waits) this.checkFresh(position);
    checkText(progress.next.cursor);
  }

  /** After a transaction. */
  check(): void {
    const current = this.store.current();
    checkTokens(current, this.store);
    this.checkDocument(current.data as Data);
    this.checkSize(current.cursor);
    for (const [at, times] of this.books.passed) {
      assert.ok(this.expected.has(at), `${at} is not on the way`);
      assert.equal(times, 1, `${at} was passed ${times} times`);
    }
    if (current.state === 'Completed') this.checkCompleted();
    if (current.state === 'Failed' || current.state === 'Compensated') this.checkFailed(current);
  }

  /** A step, a delay or a wait begins: it must lie on the way, not be done, and not be open already. */
  private checkFresh(position: Position): void {
    const at = positionText(position);
    assert.ok(this.expected.has(at), `${at} was begun, and is not on the way`);
    assert.ok(!this.books.passed.has(at), `${at} was begun again after it was done`);
    const twin = this.store.open().find((job) => job.kind !== 'resume' && positionText(placeOf(job)) === at);
    assert.ok(twin === undefined, `${at} was begun while it runs`);
  }

  /** Last completed, first undone; innermost sagas first; one after the other, and when nothing else is open there. */
  private checkUndo(position: Position, cursor: Cursor): void {
    const at = positionText(position);
    const { owed, undoesNothing } = this.books;
    assert.ok(!undoesNothing, `${at} is undone, though nothing is to be undone any more`);
    const owner = [...owed].find(([, steps]) => steps.includes(at));
    assert.ok(owner !== undefined, `${at} is undone, and no open saga has completed it`);
    const [saga, steps] = owner;
    assert.equal(steps.at(-1), at, `${at} is undone before what was completed after it`);
    for (const [inner, others] of owed) {
      assert.ok(others.length === 0 || !isBelow(inner, saga), `${at} is undone before what is open in ${inner}`);
    }
    const ending = Object.keys(cursor.unwinding).find((key) => saga === key || isBelow(saga, key));
    assert.ok(ending !== undefined, `${at} is undone, and its saga is not unwinding`);
    const others = this.store.open().filter(({ scope }) => scope.startsWith(bodyScope(ending)));
    assert.deepEqual(others, [], `${at} is undone while others are open in its scope`);
  }

  private checkDocument({ done, undone, signals }: Data): void {
    const { writes } = this.books;
    assert.deepEqual(new Map(Object.entries(done)), writes.done, 'the document has not what the steps have written');
    assert.deepEqual(new Map(Object.entries(undone)), writes.undone, 'it has not what compensations have written');
    assert.deepEqual(new Set(Object.keys(signals)), writes.signals, 'it has not what signals have brought');
  }

  /** The cursor holds what is open, at so many characters each, and nothing of what has been. */
  private checkSize(cursor: Cursor): void {
    const { again = [], after = [], parked = [] } = cursor.stopped ?? {};
    const parkings = [...cursor.parked, ...parked];
    const owed = [...this.books.owed.values()].flat();
    const counts = [this.store.open(), this.store.bookmarks, owed, again, after, parkings].map(({ length }) => length);
    const open = counts.reduce((sum, count) => sum + count, 0);
    const errors = parkings.reduce((sum, { error }) => sum + JSON.stringify(error).length, 0);
    const { cursorSize } = this.store;
    assert.ok(cursorSize <= 250 + errors + open * 500, `${cursorSize} characters of cursor for ${open} open things`);
  }

  private checkCompleted(): void {
    assert.deepEqual(new Set(this.books.passed.keys()), this.expected, 'it completed without all of its steps');
    assert.equal(this.books.undone.size, 0, 'it completed although something was undone');
  }

  private checkFailed({ state, failure, cursor }: WorkflowState): void {
    const { undoesNothing, owed, failures, undone, final } = this.books;
    assert.ok(failure !== null, 'it failed without a failure');
    assert.equal(cursor.stopped !== null, this.mayBeReopened, `whether it may be reopened: ${final}`);
    assert.equal(cursor.final === null, this.mayBeReopened);
    if (undoesNothing) return assert.equal(state, 'Failed');
    assert.deepEqual([...owed.values()].flat(), [], 'open sagas were not undone');
    const [saga = null, ...others] = failures;
    if (failures.includes(null)) return assert.equal(state, 'Failed');
    // Of several sagas that fail it counts which of them comes to an end first.
    const hadSomething = [...undone].some((at) => saga !== null && isBelow(at, saga));
    if (others.length === 0) assert.equal(state, hadSomething ? 'Compensated' : 'Failed');
    else if (state === 'Compensated') assert.ok(undone.size > 0, 'it is Compensated, and nothing was undone');
  }
}

/** They stay until somebody decides, whatever fails around them meanwhile. */
function checkParkedCompensations({ cursor }: WorkflowState, next: WorkflowState): void {
  const parked = new Set(next.cursor.parked.map(({ number }) => number));
  for (const { reason, number, position } of cursor.parked) {
    if (reason !== 'compensation') continue;
    assert.ok(parked.has(number), `the compensation of ${positionText(position)} is parked no more`);
  }
}

function checkText(cursor: Cursor): void {
  const text = encodeCursor(cursor);
  assert.deepEqual(decodeCursor(text), cursor, 'the cursor does not come back as it was');
}
