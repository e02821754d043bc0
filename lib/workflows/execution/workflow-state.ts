import type { Milliseconds } from '../../model/time';
import type { InstanceState, ScopeCancellation } from '../../model/workflow-instance';
import type { Cursor } from './cursor';
import type { Position } from './position';

/** What ended or suspended an instance, or would have. */
export interface WorkflowFailure {
  /** As in `positionText`; null when no position is at fault. */
  readonly position: string | null;
  readonly error: string;
}

/** An instance as the engine sees it: decoded, and without what never changes. */
export interface WorkflowState {
  readonly state: InstanceState;
  /** The document. Never changed in place. */
  readonly data: unknown;
  readonly cursor: Cursor;
  readonly failure: WorkflowFailure | null;
  /** Why it is Suspended, as a sentence for people; null otherwise. */
  readonly suspendedReason: string | null;
}

/** A job to make: for an activity, its compensation (`position.undo`) or a delay. */
export interface StepRequest {
  readonly position: Position;
  /** How long from now it must not run; null for none. */
  readonly delay: Milliseconds | null;
}

/** A bookmark to make. */
export interface WaitRequest {
  readonly position: Position;
  readonly signalName: string;
  readonly correlationId: string;
  readonly timeout: Milliseconds | null;
}

/** What an event makes of an instance: all of it is written in one transaction. */
export interface Progress {
  readonly next: WorkflowState;
  readonly steps: readonly StepRequest[];
  readonly waits: readonly WaitRequest[];
  /** Scopes whose bookmarks are removed; not those of `waits`. */
  readonly endWaits: readonly string[];
  /** Carried out first; then the engine is asked again with `scopesCancelled`, in the same transaction. */
  readonly cancel: ScopeCancellation | null;
}
