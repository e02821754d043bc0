import type { RetryPolicy } from '../../model/retry';
import type { Milliseconds } from '../../model/time';
import type { ActivityType } from '../activity';

/** What exhausting the retries of a step means. */
export const StepFailurePolicy = {
  /** Unwind the enclosing saga; outside any, fail the instance. The default. */
  Retry: 'Retry',
  /** The same: it only says so aloud. */
  Compensate: 'Compensate',
  /** Park the position for an operator, undoing nothing. */
  Suspend: 'Suspend',
  /** Fail the instance, undoing nothing. */
  Terminate: 'Terminate',
} as const;
export type StepFailurePolicy = (typeof StepFailurePolicy)[keyof typeof StepFailurePolicy];

/** What becomes of a committed nested saga when the outer one fails later. */
export const NestedSagaPolicy = {
  /** It is undone with the outer one, its last step first. */
  Unwind: 'Unwind',
  /** It stands. */
  Keep: 'Keep',
} as const;
export type NestedSagaPolicy = (typeof NestedSagaPolicy)[keyof typeof NestedSagaPolicy];

/** Iterations of one `forEach` that may be open at a time, whatever its `concurrency` says. */
export const MAX_OPEN_ITERATIONS = 1000;

/** A class to run, its recorded name, and how its jobs run; null leaves it to the node's defaults. */
export interface ActivityReference {
  readonly type: ActivityType<never>;
  readonly name: string;
  readonly queue: string | null;
  readonly retry: RetryPolicy | null;
  readonly timeout: Milliseconds | null;
}

interface NodeBase {
  /** Prefix of the kind and a counter in build order: `a1`, `if1`, `par1`, `each1`, `delay1`, `sig1`, `saga1`. */
  readonly id: string;
  /** What follows in the sequence; null at its end. */
  readonly next: string | null;
}

export interface ActivityNode extends NodeBase {
  readonly kind: 'Activity';
  readonly activity: ActivityReference;
  readonly compensation: ActivityReference | null;
  readonly onFailure: StepFailurePolicy;
}

export interface IfNode extends NodeBase {
  readonly kind: 'If';
  readonly condition: (data: unknown) => unknown;
  /** Entries of the arms; an absent `otherwise` is `next`. */
  readonly whenTrue: string | null;
  readonly whenFalse: string | null;
}

export interface ParallelNode extends NodeBase {
  readonly kind: 'Parallel';
  readonly branches: readonly string[];
}

export interface ForEachNode extends NodeBase {
  readonly kind: 'ForEach';
  readonly collection: (data: unknown) => unknown;
  readonly body: string;
  /** How many iterations may be open at a time. */
  readonly concurrency: number;
}

export interface DelayNode extends NodeBase {
  readonly kind: 'Delay';
  readonly duration: Milliseconds;
}

export interface WaitNode extends NodeBase {
  readonly kind: 'WaitForSignal';
  readonly signalName: string;
  readonly correlate: (data: unknown) => unknown;
  readonly bind: (data: unknown, payload: unknown) => unknown;
  readonly timeout: Milliseconds | null;
  readonly schema: StandardSchema | null;
}

export interface SagaNode extends NodeBase {
  readonly kind: 'Saga';
  readonly body: string;
  /** Null where no saga encloses this one. */
  readonly policy: NestedSagaPolicy | null;
}

export type GraphNode = ActivityNode | IfNode | ParallelNode | ForEachNode | DelayNode | WaitNode | SagaNode;

/** A validated definition; frozen. */
export interface WorkflowGraph {
  readonly definitionId: string;
  readonly version: number;
  readonly start: string;
  /** In build order. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
}

/** The part of the Standard Schema interface, version 1, that a wait uses. */
export interface StandardSchema<TOutput = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<TOutput> | Promise<StandardResult<TOutput>>;
  };
}

export type StandardResult<TOutput> =
  | { readonly value: TOutput; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };
