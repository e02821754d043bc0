import assert from 'node:assert/strict';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import type { Cursor } from '../../lib/workflows/execution/cursor';
import { type Position, positionText } from '../../lib/workflows/execution/position';
import type { WorkflowEvent } from '../../lib/workflows/execution/workflow-event';
import type { WorkflowState } from '../../lib/workflows/execution/workflow-state';
import type { ModelStore } from './model-store';
import { isBelow, outermostSagaOf, sagaOf } from './oracle';
import { type BrokenCode, type Data, everyOne, type Named } from './random-graph';

type EventOf<Kind extends WorkflowEvent['kind']> = Extract<WorkflowEvent, { kind: Kind }>;

/**
 * Its own books on one instance, kept from the events that moved it. Which saga a step belongs to it knows from the
 * definition, not from the engine.
 */
export class Books {
  /** Steps, delays and waits that are over, and how often each was. */
  readonly passed = new Map<string, number>();
  /** Completed steps that have a compensation, by the open saga that would have to undo them, oldest first. */
  readonly owed = new Map<string, string[]>();
  readonly undone = new Set<string>();
  /** Writes that the document has to hold. */
  readonly writes = {
    done: new Map<string, string>(),
    undone: new Map<string, string>(),
    signals: new Set<string>(),
  };
  /** No compensation may begin any more. */
  undoesNothing = false;
  /** Why it must not be reopened; null while it may be. */
  final: string | null = null;
  /** Failures that counted since it began or was reopened: the outermost saga of each, null outside of any. */
  failures: (string | null)[] = [];
  private readonly shapes: ReadonlyMap<string, Named>;

  constructor(
    definition: readonly Named[],
    private readonly broken: BrokenCode,
    private readonly jobs: ModelStore['jobs'],
  ) {
    this.shapes = new Map(everyOne(definition).map((shape) => [shape.id, shape]));
  }

  note(current: WorkflowState, event: WorkflowEvent, next: WorkflowState): void {
    switch (event.kind) {
      case 'finished':
        this.finished(event);
        break;
      case 'failed':
        this.failed(current, event);
        break;
      case 'resumed':
        if (!this.isClosing(event)) this.delivered(event.position, event.payload);
        break;
      case 'decided':
        this.decided(current, event);
        break;
      case 'cancelled':
        this.undoesNothing = true;
        break;
      case 'reopened':
        this.failures = [];
        break;
      case 'started':
      case 'stopped':
      case 'refused':
      case 'scopesCancelled':
    }
    this.noteCommits(current.cursor, next);
  }

  private finished({ position, document }: EventOf<'finished'>): void {
    const at = positionText(position);
    const own = document?.after as Data | undefined;
    if (position.undo) {
      this.writes.undone.set(at, own!.undone[at]!);
      return this.takeUndone(at);
    }
    if (own !== undefined) this.writes.done.set(at, own.done[at]!);
    this.pass(at);
    const shape = this.shapes.get(position.node);
    const saga = sagaOf(at);
    if (shape?.kind === 'step' && shape.compensated && saga !== null) this.owe(saga, [at]);
  }

  private failed(current: WorkflowState, event: EventOf<'failed'>): void {
    const { position } = event;
    const shape = this.shapes.get(position.node);
    const policy = shape?.kind === 'step' ? shape.onFailure : null;
    if (position.undo || this.isClosing(event) || shape?.kind === 'wait' || policy === 'Suspend') return;
    if (policy === 'Terminate') return this.endFor('a step has terminated it');
    const saga = outermostSagaOf(positionText(position));
    this.failures.push(saga);
    if (saga !== null) this.final = 'a saga has failed';
    else if (Object.keys(current.cursor.unwinding).length > 0) this.final = 'a saga had failed before';
  }

  private delivered(position: Position, payload: EventOf<'resumed'>['payload']): void {
    if (this.broken.has(position.node) && payload !== null) return; // its bind throws, so it is parked
    this.pass(positionText(position));
    if (payload !== null) this.writes.signals.add(String(payload.value));
  }

  private decided({ cursor }: WorkflowState, { decision }: EventOf<'decided'>): void {
    const { position, reason, payload } = cursor.parked.find(
      (parked) =>
        (parked.reason === 'compensation') === (decision.about === 'compensation') &&
        (decision.park === null || parked.number === decision.park) &&
        (decision.position === null || positionText(parked.position) === decision.position),
    )!;
    const at = positionText(position);
    switch (decision.action) {
      case 'Skip':
        return reason === 'compensation' ? this.takeUndone(at) : this.pass(at);
      case 'Retry':
        if (reason === 'resume' || payload !== undefined) this.delivered(position, payload ?? null);
        return;
      case 'Unwind':
        this.final = 'a saga was unwound';
        this.failures.push(outermostSagaOf(at));
        return;
      case 'Fail':
      case 'Abandon':
        return this.endFor('an operator has ended it');
    }
  }

  private endFor(reason: string): void {
    this.undoesNothing = true;
    this.final = reason;
  }

  private pass(at: string): void {
    this.passed.set(at, (this.passed.get(at) ?? 0) + 1);
  }

  private owe(saga: string, steps: readonly string[]): void {
    this.owed.set(saga, [...(this.owed.get(saga) ?? []), ...steps]);
  }

  private takeUndone(at: string): void {
    assert.ok(!this.undone.has(at), `${at} was undone twice`);
    this.undone.add(at);
    this.final = 'something was undone';
    const owner = [...this.owed].find(([, steps]) => steps.includes(at));
    assert.ok(owner !== undefined, `${at} was undone, and no open saga has completed it`);
    const [saga, steps] = owner;
    assert.equal(steps.at(-1), at, `${at} was undone before what was completed after it`);
    this.owed.set(saga, steps.slice(0, -1));
  }

  /** A saga that is open no more, and that nothing is about to undo, has committed. Inner ones first. */
  private noteCommits(before: Cursor, { state, cursor }: WorkflowState): void {
    if (state !== 'Completed' && isInstanceTerminal(state)) return;
    const ending = [...Object.keys(before.unwinding), ...Object.keys(cursor.unwinding)];
    const committed = Object.keys(before.frames)
      .filter((key) => before.frames[key]?.kind === 'saga' && cursor.frames[key] === undefined)
      .filter((key) => !ending.some((other) => other === key || isBelow(key, other)))
      .toSorted((a, b) => b.split('/').length - a.split('/').length);
    for (const key of committed) this.commit(key);
  }

  private commit(key: string): void {
    const steps = this.owed.get(key) ?? [];
    this.owed.delete(key);
    const shape = this.shapes.get(key.slice(key.lastIndexOf('/') + 1));
    assert.ok(shape?.kind === 'saga');
    const outer = sagaOf(key);
    if (outer !== null && !shape.keeps) this.owe(outer, steps);
  }

  /** Whether nothing comes of a job's end but that its scope need not wait for it any more. */
  private isClosing({ jobId }: EventOf<'failed' | 'resumed'>): boolean {
    return this.jobs.get(jobId)!.closing;
  }
}
