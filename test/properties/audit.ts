import assert from 'node:assert/strict';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import { type Cursor, decodeCursor, encodeCursor } from '../../lib/workflows/execution/cursor';
import { type Position, positionText } from '../../lib/workflows/execution/position';
import type { WorkflowEvent } from '../../lib/workflows/execution/workflow-event';
import type { Progress, WorkflowState } from '../../lib/workflows/execution/workflow-state';
import { placeOf, type ModelJob, type ModelStore } from './model-store';
import { everything, type Expected, outermostSagaOf, sagaOf } from './oracle';
import { type BrokenCode, type Data, everyOne, type Named } from './random-graph';
import { checkTokens } from './tokens';

/**
 * Keeps its own books on one instance, from events and requests alone, and compares them with what the engine says and does.
 * Knows from the definition, not from the engine, which saga a step belongs to.
 */
export class Audit {
  store!: ModelStore;
  /** Steps, delays and waits that are over, and how often each was. */
  private readonly passed = new Map<string, number>();
  /** Completed steps that have a compensation, by the saga that has to undo them, oldest first. */
  private readonly owed = new Map<string, string[]>();
  private readonly undone = new Set<string>();
  /** Writes that the document has to hold. */
  private readonly writes = {
    done: new Map<string, string>(),
    undone: new Map<string, string>(),
    signals: new Set<string>(),
  };
  private readonly expected: ReadonlyMap<string, Expected>;
  private readonly shapes: ReadonlyMap<string, Named>;
  /** No compensation may begin any more. */
  private undoesNothing = false;
  /** Why it must not be reopened; null while it may be. */
  private final: string | null = null;
  /** Failures that counted since it began or was reopened: the outermost saga of each, null outside of any. */
  private failures: (string | null)[] = [];

  constructor(
    definition: readonly Named[],
    private readonly broken: BrokenCode,
  ) {
    this.expected = new Map([...everything(definition)].map((item) => [item.at, item]));
    this.shapes = new Map(everyOne(definition).map((shape) => [shape.id, shape]));
  }

  get mayBeReopened(): boolean {
    return this.final === null;
  }

  /** Sees each call of the engine. */
  observe(current: WorkflowState, event: WorkflowEvent, progress: Progress | null): void {
    if (isInstanceTerminal(current.state)) {
      assert.ok(event.kind === 'reopened' || progress === null, `a terminal instance moved by ${event.kind}`);
    }
    if (progress === null) return;
    this.note(current, event);
    this.noteCommits(current.cursor, progress);
    for (const { position } of progress.steps) this.checkStart(position, progress);
    for (const { position } of progress.waits) this.checkFresh(position);
    checkText(progress.next.cursor);
  }

  /** After a transaction. */
  check(): void {
    const current = this.store.current();
    checkTokens(current, this.store);
    this.checkDocument(current.data as Data);
    this.checkSize();
    for (const [at, times] of this.passed) {
      assert.ok(this.expected.has(at), `${at} is not on the way`);
      assert.equal(times, 1, `${at} was passed ${times} times`);
    }
    if (current.state === 'Completed') this.checkCompleted();
    if (current.state === 'Failed' || current.state === 'Compensated') this.checkFailed(current);
  }

  private note(current: WorkflowState, event: WorkflowEvent): void {
    switch (event.kind) {
      case 'finished':
        return this.noteFinished(event);
      case 'failed':
        return this.noteFailed(current, event.position, event.jobId);
      case 'resumed':
        if (!this.job(event.jobId).closing) this.noteDelivered(event.position, event.payload);
        return;
      case 'decided':
        return this.noteDecision(current, event);
      case 'cancelled':
        this.undoesNothing = true;
        return;
      case 'reopened':
        assert.ok(this.mayBeReopened, `it was reopened though ${this.final}`);
        this.failures = [];
        return;
      case 'started':
      case 'stopped':
      case 'refused':
      case 'scopesCancelled':
        return;
    }
  }

  private noteFinished({ position, document }: Extract<WorkflowEvent, { kind: 'finished' }>): void {
    const at = positionText(position);
    const own = document?.after as Data | undefined;
    if (position.undo) {
      this.writes.undone.set(at, own!.undone[at]!);
      return this.noteUndone(at);
    }
    if (own !== undefined) this.writes.done.set(at, own.done[at]!);
    this.pass(at);
    const shape = this.shapes.get(position.node);
    const saga = sagaOf(at);
    if (shape?.kind !== 'step' || !shape.compensated || saga === null) return;
    this.owed.set(saga, [...(this.owed.get(saga) ?? []), at]);
  }

  private noteUndone(at: string): void {
    assert.ok(!this.undone.has(at), `${at} was undone twice`);
    this.undone.add(at);
    this.final = 'something was undone';
    for (const [saga, steps] of this.owed) {
      if (!steps.includes(at)) continue;
      assert.equal(steps.at(-1), at, `${at} was undone before what was completed after it`);
      this.owed.set(saga, steps.slice(0, -1));
      return;
    }
    assert.fail(`${at} was undone, and no open saga has completed it`);
  }

  private noteFailed(current: WorkflowState, position: Position, jobId: string): void {
    const shape = this.shapes.get(position.node);
    if (position.undo || this.job(jobId).closing || shape?.kind === 'wait') return;
    const policy = shape?.kind === 'step' ? shape.onFailure : null;
    if (policy === 'Suspend') return;
    if (policy === 'Terminate') {
      this.undoesNothing = true;
      this.final = 'a step has terminated it';
      return;
    }
    const saga = outermostSagaOf(positionText(position));
    this.failures.push(saga);
    if (saga !== null) this.final = 'a saga has failed';
    else if (Object.keys(current.cursor.unwinding).length > 0) this.final = 'a saga had failed before';
  }

  private noteDelivered(position: Position, payload: { readonly value: unknown } | null): void {
    if (this.broken.has(position.node) && payload !== null) return; // its bind throws, so it is parked
    this.pass(positionText(position));
    if (payload !== null) this.writes.signals.add(String(payload.value));
  }

  private noteDecision(current: WorkflowState, { decision }: Extract<WorkflowEvent, { kind: 'decided' }>): void {
    const parked = current.cursor.parked.find(
      ({ position, number, reason }) =>
        (reason === 'compensation') === (decision.about === 'compensation') &&
        (decision.park === null || number === decision.park) &&
        (decision.position === null || positionText(position) === decision.position),
    )!;
    const { position, reason, payload } = parked;
    const at = positionText(position);
    switch (decision.action) {
      case 'Skip':
        if (reason === 'compensation') this.noteUndone(at);
        else this.pass(at);
        return;
      case 'Retry':
        if (reason === 'resume' || payload !== undefined) this.noteDelivered(position, payload ?? null);
        return;
      case 'Unwind':
        this.final = 'a saga was unwound';
        this.failures.push(outermostSagaOf(at));
        return;
      case 'Fail':
      case 'Abandon':
        this.undoesNothing = true;
        this.final = 'an operator has ended it';
    }
  }

  private pass(at: string): void {
    this.passed.set(at, (this.passed.get(at) ?? 0) + 1);
  }

  /** A saga that is open no more, and that nothing is about to undo, has committed. */
  private noteCommits(before: Cursor, { next }: Progress): void {
    if (next.state !== 'Completed' && isInstanceTerminal(next.state)) return;
    const ending = [...Object.keys(before.unwinding), ...Object.keys(next.cursor.unwinding)];
    const gone = Object.keys(before.frames)
      .filter((key) => before.frames[key]?.kind === 'saga' && next.cursor.frames[key] === undefined)
      .filter((key) => !ending.some((other) => other === key || isBelow(key, other)))
      .toSorted((a, b) => b.split('/').length - a.split('/').length);
    for (const key of gone) this.commit(key);
  }

  private commit(key: string): void {
    const steps = this.owed.get(key) ?? [];
    this.owed.delete(key);
    const shape = this.shapes.get(key.slice(key.lastIndexOf('/') + 1));
    const outer = sagaOf(key);
    assert.ok(shape?.kind === 'saga');
    if (outer !== null && !shape.keeps) this.owed.set(outer, [...(this.owed.get(outer) ?? []), ...steps]);
  }

  private checkStart(position: Position, { next }: Progress): void {
    const at = positionText(position);
    if (!position.undo) return this.checkFresh(position);
    assert.ok(!this.undoesNothing, `${at} is undone, though nothing is to be undone any more`);
    const owner = [...this.owed].find(([, steps]) => steps.includes(at));
    assert.ok(owner !== undefined, `${at} is undone, and no open saga has completed it`);
    const [saga, steps] = owner;
    assert.equal(steps.at(-1), at, `${at} is undone before what was completed after it`);
    for (const [inner, others] of this.owed) {
      assert.ok(
        others.length === 0 || !isBelow(inner, saga),
        `${at} is undone before ${inner}, which is open in ${saga}`,
      );
    }
    const ending = Object.keys(next.cursor.unwinding).find((key) => saga === key || isBelow(saga, key));
    assert.ok(ending !== undefined, `${at} is undone, and its saga is not unwinding`);
    const running = this.store.open().filter(({ scope }) => scope.startsWith(bodyScope(ending)));
    assert.deepEqual(running, [], `${at} is undone while others are open in its scope`);
  }

  private checkFresh(position: Position): void {
    const at = positionText(position);
    assert.ok(this.expected.has(at), `${at} was begun, and is not on the way`);
    assert.ok(!this.passed.has(at), `${at} was begun again after it was done`);
    const twin = this.store.open().find((job) => job.kind !== 'resume' && positionText(placeOf(job)) === at);
    assert.ok(twin === undefined, `${at} was begun while it runs`);
  }

  private checkDocument({ done, undone, signals }: Data): void {
    assert.deepEqual(
      new Map(Object.entries(done)),
      this.writes.done,
      'the document has not what the steps have written',
    );
    assert.deepEqual(new Map(Object.entries(undone)), this.writes.undone);
    assert.deepEqual(new Set(Object.keys(signals)), this.writes.signals);
  }

  /** What is open, at so many bytes each; nothing for what has been. */
  private checkSize(): void {
    const { cursor } = this.store.current();
    const owed = [...this.owed.values()].reduce((sum, steps) => sum + steps.length, 0);
    const { again = [], after = [], parked = [] } = cursor.stopped ?? {};
    const parkings = [...cursor.parked, ...parked];
    const open = this.store.open().length + this.store.bookmarks.length + owed + again.length + after.length;
    const texts = parkings.reduce((sum, { error }) => sum + JSON.stringify(error).length, 0);
    const most = 250 + texts + (open + parkings.length) * 500;
    assert.ok(
      this.store.cursorSize <= most,
      `the cursor has ${this.store.cursorSize} characters for ${open} open things`,
    );
  }

  private checkCompleted(): void {
    assert.deepEqual(
      new Set(this.passed.keys()),
      new Set(this.expected.keys()),
      'it completed without all of its steps',
    );
    assert.equal(this.undone.size, 0, 'it completed although something was undone');
  }

  private checkFailed({ state, failure, cursor }: WorkflowState): void {
    assert.ok(failure !== null, 'it failed without a failure');
    assert.equal(cursor.stopped !== null, this.mayBeReopened, `whether it may be reopened: ${this.final}`);
    assert.equal(cursor.final === null, this.mayBeReopened);
    if (this.undoesNothing) return assert.equal(state, 'Failed');
    assert.deepEqual([...this.owed.values()].flat(), [], 'open sagas were not undone');
    const [saga = null, ...others] = this.failures;
    if (this.failures.includes(null)) return assert.equal(state, 'Failed');
    const hadSomething = [...this.undone].some((at) => saga !== null && isBelow(at, saga));
    // Of several sagas that fail it counts which of them comes to an end first.
    if (others.length === 0) assert.equal(state, hadSomething ? 'Compensated' : 'Failed');
    else if (state === 'Compensated') assert.ok(this.undone.size > 0, 'it is Compensated, and nothing was undone');
  }

  private job(id: string): ModelJob {
    return this.store.jobs.get(id)!;
  }
}

/** Whether a key or scope lies in the body of a saga, or anywhere in the instance. */
export function isBelow(key: string, saga: string): boolean {
  return key !== saga && key.startsWith(bodyScope(saga));
}

export function bodyScope(saga: string): string {
  return saga === '' ? '' : `${saga}.0/`;
}

function checkText(cursor: Cursor): void {
  const text = encodeCursor(cursor);
  assert.deepEqual(decodeCursor(text), cursor, 'the cursor does not come back as it was');
  assert.equal(encodeCursor(decodeCursor(text)), text);
}
