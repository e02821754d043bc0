import type { Duration } from '../../model/time';
import type { ActivityType } from '../activity';
import type { StepFailurePolicy } from './graph';
import { type SagaBody, SagaBuilder } from './saga-builder';
import { type ForEachOptions, SequenceBuilder, type StepOptions, type WaitOptions } from './sequence-builder';

/**
 * Describes a workflow from top to bottom: every method appends to the sequence and returns the same builder. All of it is
 * synchronous: the builder has a `then` and must not be awaited.
 */
export interface IWorkflowBuilder<TData> {
  /** Runs an activity. The same as `then`: the word that a definition opens with. */
  startWith(activity: ActivityType<TData>, options?: StepOptions): this;
  /** Runs an activity, as a durable job of its own. */
  then(activity: ActivityType<TData>, options?: StepOptions): this;
  /** What it means when the step before it exhausts its retries. Default: the instance fails. */
  onFailure(policy: StepFailurePolicy): this;
  /** Goes one way or the other. The condition is pure and synchronous, and may be evaluated again. */
  if(condition: (data: TData) => boolean, then: WorkflowBody<TData>, otherwise?: WorkflowBody<TData>): this;
  /** Runs branches concurrently and goes on once all have ended. They should write disjoint parts of the document. */
  parallel(...branches: readonly WorkflowBody<TData>[]): this;
  /** Runs the body once per item, concurrently. The number of items is read once, when the loop begins. */
  forEach(collection: (data: TData) => unknown, body: WorkflowBody<TData>, options?: ForEachOptions): this;
  /** Goes on after this time, across any number of restarts. */
  delay(duration: Duration): this;
  /** Waits for a signal from outside, or until its timeout. */
  waitForSignal<TPayload = unknown>(options: WaitOptions<TData, TPayload>): this;
  /** A sequence whose completed steps are undone in reverse order when a later one fails for good. */
  saga(steps: SagaBody<TData>): this;
}

export type WorkflowBody<TData> = (branch: IWorkflowBuilder<TData>) => unknown;

export class WorkflowBuilder<TData> extends SequenceBuilder<TData> implements IWorkflowBuilder<TData> {
  saga(steps: SagaBody<TData>, ...policy: readonly unknown[]): this {
    const id = this.idFor('saga');
    if (policy.length > 0) throw this.scope.error('its saga lies in no other saga. Drop the policy.', id);
    const body = this.filled(new SagaBuilder<TData>(this.scope), steps, 'the saga', id);
    this.add({ kind: 'Saga', id, body, policy: null });
    return this;
  }

  /** Not part of {@link IWorkflowBuilder}: for those who write JavaScript. */
  compensateWith(): never {
    const step = this.lastActivity('compensateWith');
    throw this.scope.error('it lies in no saga, so nothing undoes it. Use compensateWith within saga(...).', step.id);
  }

  protected override inner(): WorkflowBuilder<TData> {
    return new WorkflowBuilder<TData>(this.scope);
  }
}
