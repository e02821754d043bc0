import type { InstanceId } from '../model/ids';

/** What an activity is given of the instance that it works for. */
export interface ActivityContext<TData = unknown> {
  /** The document: change it to record what was done. Changes of a failed attempt are thrown away. */
  readonly data: TData;
  readonly instanceId: InstanceId;
  readonly nodeId: string;
  readonly definitionId: string;
  readonly version: number;
  /** Index in the innermost enclosing `forEach`, from 0; 0 outside any. */
  readonly loopIndex: number;
  /** Indexes in all enclosing `forEach` loops, outermost first. */
  readonly loopPath: readonly number[];
  /** Aborts when the instance is cancelled, the lease is lost, the step's `timeout` has passed, or the shutdown's drain ends. */
  readonly signal: AbortSignal;
}

/** A step of a workflow. Returning is success, throwing is a failure under the step's retry policy. */
export interface IActivity<TData = unknown> {
  execute(context: ActivityContext<TData>): Promise<void> | void;
}

/** The class of an activity, or the abstract class that stands as its token. */
export interface ActivityType<TData = unknown> {
  readonly name: string;
  readonly prototype: IActivity<TData>;
}
