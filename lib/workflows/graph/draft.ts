import type {
  ActivityNode,
  ActivityReference,
  DelayNode,
  ForEachNode,
  IfNode,
  ParallelNode,
  SagaNode,
  StepFailurePolicy,
  WaitNode,
} from './graph';

type Own<T, K extends keyof T = never> = Omit<T, 'next' | K>;

/** Steps as a builder collects them: what is nested is still nested, and nothing is linked. */
export type Sequence = readonly Draft[];

export interface ActivityDraft extends Own<ActivityNode, 'compensation' | 'onFailure'> {
  compensation: ActivityReference | null;
  onFailure: StepFailurePolicy | null;
}

export type Draft =
  | ActivityDraft
  | Own<DelayNode>
  | Own<WaitNode>
  | (Own<IfNode, 'whenTrue' | 'whenFalse'> & { readonly whenTrue: Sequence; readonly whenFalse: Sequence })
  | (Own<ParallelNode, 'branches'> & { readonly branches: readonly Sequence[] })
  | (Own<ForEachNode, 'body'> & { readonly body: Sequence })
  | (Own<SagaNode, 'body'> & { readonly body: Sequence });
