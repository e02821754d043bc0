import type { JobId } from '../../model/ids';
import type { RunningStep } from '../../model/workflow-instance';
import type { Position } from './position';

/** What an execution has made of the document: as it was given, and as it was left. */
export interface DocumentChange {
  readonly before: unknown;
  readonly after: unknown;
}

/** What came with a signal. Null stands for a signal without payload and for a wait that has expired. */
export type SignalPayload = { readonly value: unknown } | null;

/** What an operator decides about a parked position. */
export const StepRecovery = {
  /** Run it again, with a fresh retry budget. */
  Retry: 'Retry',
  /** Go on as if it had succeeded. */
  Skip: 'Skip',
  /** Undo the enclosing saga. */
  Unwind: 'Unwind',
  /** Fail the instance, undoing nothing. */
  Fail: 'Fail',
} as const;
export type StepRecovery = (typeof StepRecovery)[keyof typeof StepRecovery];

/** What an operator decides about a compensation that has failed. */
export const CompensationRecovery = {
  /** Run the compensation again, with a fresh retry budget. */
  Retry: 'Retry',
  /** Treat its step as undone and carry on unwinding. */
  Skip: 'Skip',
  /** Stop unwinding and fail the instance; what is not undone yet stands. */
  Abandon: 'Abandon',
} as const;
export type CompensationRecovery = (typeof CompensationRecovery)[keyof typeof CompensationRecovery];

/** An operator's answer. `position` is as in {@link positionText}; null where there is only one parked position. */
export interface Decision {
  readonly about: 'step' | 'compensation';
  readonly action: StepRecovery | CompensationRecovery;
  readonly position: string | null;
  /** Number of the parking that is decided; null for whichever it is. */
  readonly park: number | null;
}

/** What happens to an instance. Jobs are named where their end may be awaited by an unwinding scope. */
export type WorkflowEvent =
  /** It begins; its cursor is empty. */
  | { readonly kind: 'started' }
  /** A step, a delay or a compensation has succeeded. `document` is null where no code of the user has run. */
  | {
      readonly kind: 'finished';
      readonly position: Position;
      readonly jobId: JobId;
      readonly document: DocumentChange | null;
    }
  /** A step, a delay, a compensation or the delivery of a signal is dead. */
  | {
      readonly kind: 'failed';
      readonly position: Position;
      readonly jobId: JobId;
      readonly error: string;
      /** For the delivery of a signal: what it carried. */
      readonly payload: SignalPayload;
    }
  /** A job has ended without a result: it failed and is tried again, was given back, or was cancelled. */
  | { readonly kind: 'stopped'; readonly position: Position; readonly jobId: JobId }
  /** A wait is over. */
  | { readonly kind: 'resumed'; readonly position: Position; readonly jobId: JobId; readonly payload: SignalPayload }
  /** A signal has been consumed whose payload does not fit the wait's schema. */
  | {
      readonly kind: 'refused';
      readonly position: Position;
      readonly jobId: JobId;
      readonly payload: SignalPayload;
      readonly error: string;
    }
  | { readonly kind: 'decided'; readonly decision: Decision }
  | { readonly kind: 'cancelled' }
  /** An operator reopens a failed instance. */
  | { readonly kind: 'reopened' }
  /** The cancellation that the previous progress asked for has been carried out. */
  | {
      readonly kind: 'scopesCancelled';
      readonly scopes: readonly string[];
      readonly stillRunning: readonly RunningStep[];
      /** Jobs that waited to run and never will. */
      readonly cancelled: readonly RunningStep[];
    };
