import type { Bookmark } from './bookmark';
import type { BookmarkId, InstanceId, JobId } from './ids';
import type { JobRecord } from './job';

export const InstanceState = {
  Running: 'Running',
  /** A position is parked for an operator, or only waits are open. */
  Suspended: 'Suspended',
  Completed: 'Completed',
  Failed: 'Failed',
  Compensated: 'Compensated',
  Cancelled: 'Cancelled',
} as const;
export type InstanceState = (typeof InstanceState)[keyof typeof InstanceState];

/** The persisted numbers. A format: never renumber. */
export const INSTANCE_STATE_CODES = {
  Running: 0,
  Suspended: 1,
  Completed: 2,
  Failed: 3,
  Compensated: 4,
  Cancelled: 5,
} as const satisfies Record<InstanceState, number>;
export const INSTANCE_STATES = Object.keys(INSTANCE_STATE_CODES) as readonly InstanceState[];

export function isInstanceTerminal(state: InstanceState): boolean {
  return state !== InstanceState.Running && state !== InstanceState.Suspended;
}

/** A workflow under way. Data and cursor are JSON text that storage does not look into. */
export interface WorkflowInstance {
  readonly id: InstanceId;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly state: InstanceState;
  readonly data: string;
  /** What JSON lacks of `data`, as JSON text; null when it lacks nothing. */
  readonly dataTypes: string | null;
  readonly cursor: string;
  /** Number of times it was written; 1 when created. */
  readonly revision: number;
  readonly tenantId: string | null;
  /** Business key: unique among live instances of a tenant and definition; kept when the instance ends. */
  readonly startKey: string | null;
  readonly shapeHash: string;
  readonly suspendedReason: string | null;
  /** The failure that ended or suspended it: JSON text. */
  readonly failure: string | null;
  /** The operator's decision applied last; a retry of that decision finds itself here. */
  readonly lastDecisionId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
}

/** The part of an instance that an {@link Advance} may change. */
export type InstanceUpdate = Pick<
  WorkflowInstance,
  'state' | 'data' | 'dataTypes' | 'cursor' | 'suspendedReason' | 'failure' | 'lastDecisionId'
>;

/** Scope paths whose jobs are to end. A path means everything at or below it; `''` means the whole instance. */
export interface ScopeCancellation {
  readonly scopes: readonly string[];
  /** Running jobs: `abort` asks them to stop, `finish` lets them end and keeps them from coming back. */
  readonly running: 'abort' | 'finish';
}

/** What an {@link Advance} wants written, all in the transaction that called it. */
export interface InstanceChange {
  readonly instance: InstanceUpdate;
  readonly enqueue: readonly JobRecord[];
  readonly addBookmarks: readonly Bookmark[];
  readonly removeBookmarks: { readonly ids?: readonly BookmarkId[]; readonly scopes?: readonly string[] };
  readonly cancel: ScopeCancellation | null;
}

/** Why an {@link Advance} is called. */
export type AdvanceEvent =
  /** For the first time, by the transition or decision that carries it. */
  | { readonly kind: 'called' }
  /** Again, in the same transaction: its cancellation has been carried out. */
  | {
      readonly kind: 'cancelled';
      readonly scopes: readonly string[];
      /** Jobs of these scopes that still run, or whose own transition comes later in the same flush. */
      readonly stillRunning: readonly RunningStep[];
      /** Jobs of these scopes that waited to run, or were to be inserted by this flush, and never will run. */
      readonly cancelled: readonly RunningStep[];
    };

/** A job of an instance, as far as the engine has to know it. */
export interface RunningStep {
  readonly id: JobId;
  readonly position: string | null;
  readonly scope: string;
}

/**
 * Decides how an instance moves on: pure and synchronous, called by storage under the lock of the instance's row, with
 * the row as it is now. Storage may call it again when it has to start over. It answers null when nothing moves.
 */
export type Advance = (instance: WorkflowInstance, event: AdvanceEvent) => InstanceChange | null;
