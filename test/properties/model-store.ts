import type { JobId } from '../../lib/model/ids';
import type { InstanceState, RunningStep } from '../../lib/model/workflow-instance';
import { advance } from '../../lib/workflows/execution/advance';
import { decodeCursor, emptyCursor, encodeCursor } from '../../lib/workflows/execution/cursor';
import { decodePosition, encodePosition, type Position, scopeOf } from '../../lib/workflows/execution/position';
import type { SignalPayload, WorkflowEvent } from '../../lib/workflows/execution/workflow-event';
import type { Progress, WorkflowFailure, WorkflowState } from '../../lib/workflows/execution/workflow-state';
import type { WorkflowGraph } from '../../lib/workflows/graph/graph';
import type { Data } from './random-graph';

/** A job as far as it matters here: `pending` is queued, delayed or backing off. */
export interface ModelJob {
  readonly id: JobId;
  readonly kind: 'step' | 'undo' | 'delay' | 'resume';
  readonly position: string;
  readonly scope: string;
  readonly payload: SignalPayload;
  state: 'pending' | 'running' | 'over';
  closing: boolean;
  cancelRequested: boolean;
  /** The document that its execution was given. */
  given: Data | null;
}

export interface ModelBookmark {
  readonly position: string;
  readonly scope: string;
  readonly expires: boolean;
}

/** What is told about every call of the engine, before what it asks for is written. */
export type Observer = (current: WorkflowState, event: WorkflowEvent, progress: Progress | null) => void;

/** The rules of a store, for one instance and in memory; what it keeps of the instance is text, as in a database. */
export class ModelStore {
  readonly jobs = new Map<JobId, ModelJob>();
  bookmarks: ModelBookmark[] = [];
  state: InstanceState = 'Running';
  private data: string;
  private cursorText = encodeCursor(emptyCursor());
  private failure: WorkflowFailure | null = null;
  private suspendedReason: string | null = null;
  private lastId = 0;
  observe: Observer = () => undefined;

  constructor(
    private readonly graph: WorkflowGraph,
    data: Data,
  ) {
    this.data = JSON.stringify(data);
  }

  /** The instance, read anew. */
  current(): WorkflowState {
    const { state, failure, suspendedReason } = this;
    return { state, data: this.document(), cursor: decodeCursor(this.cursorText), failure, suspendedReason };
  }

  document(): Data {
    return JSON.parse(this.data) as Data;
  }

  /** Length of the cursor's text. */
  get cursorSize(): number {
    return this.cursorText.length;
  }

  open(): ModelJob[] {
    return [...this.jobs.values()].filter(({ state }) => state !== 'over');
  }

  /** A job starts to run, or another execution takes it over. */
  claim(job: ModelJob): void {
    job.state = 'running';
    job.given = this.document();
  }

  /** A signal or an expiry: its bookmark becomes a job. */
  consume(bookmark: ModelBookmark, payload: SignalPayload): void {
    this.bookmarks = this.bookmarks.filter((other) => other !== bookmark);
    this.insert('resume', bookmark.position, bookmark.scope, payload);
  }

  /**
   * Calls the engine, carries out what it wants, and calls it again for as long as it cancels something; all of it is one
   * transaction.
   *
   * @param unborn jobs that the same flush has inserted
   */
  move(event: WorkflowEvent, unborn = new Set<JobId>()): boolean {
    let next = event;
    for (let calls = 0; calls < 100; calls++) {
      const progress = this.ask(next);
      if (progress === null) return calls > 0;
      const { cancel } = progress;
      const cancelled = cancel === null ? [] : this.cancelScopes(cancel.scopes, cancel.running, unborn);
      this.write(progress, unborn);
      if (cancel === null) return true;
      const { scopes } = cancel;
      const stillRunning = this.within(scopes).filter(({ state }) => state === 'running');
      next = { kind: 'scopesCancelled', scopes, stillRunning: stillRunning.map(stepOf), cancelled };
    }
    throw new Error('The engine cancels without end.');
  }

  private ask(event: WorkflowEvent): Progress | null {
    const current = this.current();
    const progress = advance(this.graph, frozen(current), event);
    this.observe(current, event, progress);
    return progress;
  }

  private write({ next, steps, waits, endWaits }: Progress, unborn: Set<JobId>): void {
    this.bookmarks = this.bookmarks.filter(({ scope }) => !endWaits.some((ended) => scope.startsWith(ended)));
    this.state = next.state;
    this.data = JSON.stringify(next.data);
    this.cursorText = encodeCursor(next.cursor);
    this.failure = next.failure;
    this.suspendedReason = next.suspendedReason;
    for (const { position, timeout } of waits) {
      this.bookmarks.push({
        position: encodePosition(position),
        scope: scopeOf(position.path),
        expires: timeout !== null,
      });
    }
    for (const { position, delay } of steps) {
      const kind = delay !== null ? 'delay' : position.undo ? 'undo' : 'step';
      unborn.add(this.insert(kind, encodePosition(position), scopeOf(position.path), null));
    }
  }

  private insert(kind: ModelJob['kind'], position: string, scope: string, payload: SignalPayload): JobId {
    const id = `job-${++this.lastId}`;
    this.jobs.set(id, {
      id,
      kind,
      position,
      scope,
      payload,
      state: 'pending',
      closing: false,
      cancelRequested: false,
      given: null,
    });
    return id;
  }

  private cancelScopes(scopes: readonly string[], running: 'abort' | 'finish', unborn: Set<JobId>): RunningStep[] {
    const cancelled: RunningStep[] = [];
    for (const job of this.within(scopes)) {
      if (job.state === 'running') {
        if (running === 'abort') job.cancelRequested = true;
        else job.closing = true;
        continue;
      }
      cancelled.push(stepOf(job));
      job.state = 'over';
      if (unborn.has(job.id)) this.jobs.delete(job.id);
    }
    return cancelled;
  }

  private within(scopes: readonly string[]): ModelJob[] {
    return this.open().filter(({ scope }) => scopes.some((ended) => scope.startsWith(ended)));
  }
}

export function placeOf(job: Pick<ModelJob, 'position'>): Position {
  return decodePosition(job.position);
}

function stepOf({ id, position, scope }: ModelJob): RunningStep {
  return { id, position, scope };
}

/** The engine must not change what it is given. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) frozen(item);
  return value;
}
