import type { InstanceState, ScopeCancellation } from '../../model/workflow-instance';
import { isInstanceTerminal } from '../../model/workflow-instance';
import type { GraphNode, WorkflowGraph } from '../graph/graph';
import type { Cursor, FinalReason, Frame, ParkedPosition, ParkReason, Stopped, Unwinding } from './cursor';
import { parsePosition, type Position, positionText, type ScopePath, scopeOf } from './position';
import { shortened } from './shortened';
import { suspensionText } from './suspension-text';
import type { Progress, StepRequest, WaitRequest, WorkflowFailure, WorkflowState } from './workflow-state';

/** One move of an instance under way: what it was, what has been decided of it so far, and what that asks for. */
export class Move {
  readonly frames: Record<string, Frame>;
  readonly unwinding: Record<string, Unwinding>;
  parked: readonly ParkedPosition[];
  active: number;
  stopped: Stopped | null;
  final: FinalReason | null;
  /** Of what has begun to end the instance; null while nothing has. */
  failure: WorkflowFailure | null;
  cancel: ScopeCancellation | null = null;
  private readonly waits: Set<string>;
  private parkings: number;
  private ended: InstanceState | null = null;
  private document: { readonly value: unknown } | null = null;
  private readonly steps: StepRequest[] = [];
  private readonly newWaits: WaitRequest[] = [];
  private readonly endWaits: string[] = [];

  constructor(
    readonly graph: WorkflowGraph,
    private readonly current: WorkflowState,
  ) {
    const { cursor, state, failure } = current;
    this.frames = { ...cursor.frames };
    this.unwinding = { ...cursor.unwinding };
    this.parked = cursor.parked;
    this.parkings = cursor.parkings;
    this.active = cursor.active;
    this.stopped = cursor.stopped;
    this.final = cursor.final;
    this.waits = new Set(cursor.waits);
    this.failure = isInstanceTerminal(state) || this.isUnwinding() ? failure : null;
  }

  /** The document, which is not looked up before somebody asks for it. */
  get data(): unknown {
    return this.document === null ? this.current.data : this.document.value;
  }

  set data(value: unknown) {
    this.document = { value };
  }

  /** @throws {Error} the graph has no such node */
  node(id: string): GraphNode {
    const node = this.graph.nodes.get(id);
    if (node !== undefined) return node;
    const { definitionId, version } = this.graph;
    throw new Error(`${definitionId}@${version} has no node ${id}. Was its graph edited under the same version?`);
  }

  /** Whether some scope is on its way to its end. */
  isUnwinding(): boolean {
    for (const _ in this.unwinding) return true;
    return false;
  }

  /** Whether no job and no bookmark is open. A delivery of a signal whose wait has ended is only known to the scope that waits for it. */
  isIdle(): boolean {
    if (this.active > 0 || this.waits.size > 0) return false;
    return Object.values(this.unwinding).every(({ running }) => running.length === 0);
  }

  startStep(step: StepRequest): void {
    this.steps.push(step);
    this.active++;
  }

  startWait(wait: WaitRequest): void {
    this.waits.add(positionText(wait.position));
    this.newWaits.push(wait);
  }

  /** Whether there was such a wait; there is none any more. */
  takeWait(position: Position): boolean {
    return this.waits.delete(positionText(position));
  }

  /** Ends the waits of a scope, and answers where they stood. */
  endWaitsIn(path: ScopePath): string[] {
    const scope = scopeOf(path);
    const ended = [...this.waits].filter((wait) => wait.startsWith(scope));
    for (const wait of ended) this.waits.delete(wait);
    this.endWaits.push(scope);
    return ended;
  }

  park(reason: ParkReason, position: Position, error: string, payload?: ParkedPosition['payload']): void {
    const parked = { number: ++this.parkings, reason, position, error: shortened(error) };
    this.parked = [...this.parked, payload === undefined ? parked : { ...parked, payload }];
  }

  unpark({ number }: ParkedPosition): void {
    this.parked = this.parked.filter((parked) => parked.number !== number);
  }

  /** The first failure counts: what fails after it, while the instance is ending, does not change why it ends. */
  fail(position: Position, error: string): void {
    this.failure ??= { position: positionText(position), error };
  }

  end(state: InstanceState): void {
    this.ended = state;
  }

  /** The instance has ended, whatever is still open. */
  endAtOnce(state: InstanceState): void {
    this.endWaitsIn([]);
    this.parked = [];
    this.active = 0;
    this.stopped = null;
    for (const key of Object.keys(this.unwinding)) delete this.unwinding[key];
    this.end(state);
  }

  progress(): Progress {
    const state = this.ended ?? this.liveState();
    const waits = [...this.waits];
    const [parked] = this.parked;
    return {
      next: {
        state,
        data: this.data,
        cursor: this.cursor(waits),
        failure: this.failure ?? (parked === undefined ? null : failureOf(parked)),
        suspendedReason:
          state === 'Suspended' ? suspensionText(this.graph, this.parked, waits.map(parsePosition)) : null,
      },
      steps: this.steps,
      waits: this.newWaits,
      endWaits: this.endWaits,
      cancel: this.cancel,
    };
  }

  private cursor(waits: readonly string[]): Cursor {
    const { frames, parked, parkings, active, unwinding, stopped, final } = this;
    const isOver = this.ended !== null && stopped === null;
    return { frames: isOver ? {} : frames, waits, parked, parkings, active, unwinding, stopped, final };
  }

  private liveState(): InstanceState {
    if (this.parked.length > 0) return 'Suspended';
    return this.active === 0 && this.waits.size > 0 ? 'Suspended' : 'Running';
  }
}

function failureOf({ position, error }: ParkedPosition): WorkflowFailure {
  return { position: positionText(position), error };
}
