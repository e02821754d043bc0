import { shown } from '../../model/checks';
import type { Duration } from '../../model/time';
import type { ActivityType } from '../activity';
import { NestedSagaPolicy, type StepFailurePolicy } from './graph';
import { type ForEachOptions, SequenceBuilder, type StepOptions, type WaitOptions } from './sequence-builder';

/** Describes the steps of a saga: when one of them fails for good, the completed ones are undone, last first. */
export interface ISagaBuilder<TData> {
  startWith(activity: ActivityType<TData>, options?: StepOptions): this;
  then(activity: ActivityType<TData>, options?: StepOptions): this;
  /** How the step before it is undone. */
  compensateWith(activity: ActivityType<TData>, options?: StepOptions): this;
  /** What it means when the step before it exhausts its retries. */
  onFailure(policy: StepFailurePolicy): this;
  if(condition: (data: TData) => boolean, then: SagaBody<TData>, otherwise?: SagaBody<TData>): this;
  parallel(...branches: readonly SagaBody<TData>[]): this;
  forEach(collection: (data: TData) => unknown, body: SagaBody<TData>, options?: ForEachOptions): this;
  delay(duration: Duration): this;
  waitForSignal<TPayload = unknown>(options: WaitOptions<TData, TPayload>): this;
  /** A saga within this one. `policy` says what becomes of it when it has committed and this one fails later. */
  saga(steps: SagaBody<TData>, policy: NestedSagaPolicy): this;
}

export type SagaBody<TData> = (saga: ISagaBuilder<TData>) => unknown;

export class SagaBuilder<TData> extends SequenceBuilder<TData> implements ISagaBuilder<TData> {
  compensateWith(activity: ActivityType<TData>, options: StepOptions = {}): this {
    const step = this.lastActivity('compensateWith');
    if (step.compensation !== null) throw this.scope.error('it has two compensations.', step.id);
    step.compensation = this.reference(activity, options, step.id);
    return this;
  }

  saga(steps: SagaBody<TData>, policy: NestedSagaPolicy): this {
    const id = this.idFor('saga');
    if (!Object.hasOwn(NestedSagaPolicy, policy)) {
      const known = Object.keys(NestedSagaPolicy).join(' or ');
      throw this.scope.error(
        `a saga within a saga needs a policy, NestedSagaPolicy.${known}: what becomes of it when it has committed and ` +
          `the outer one fails later. Got ${shown(policy)}.`,
        id,
      );
    }
    this.add({ kind: 'Saga', id, body: this.sequence(steps, 'the saga', id), policy });
    return this;
  }

  protected override inner(): SagaBuilder<TData> {
    return new SagaBuilder<TData>(this.scope);
  }
}
