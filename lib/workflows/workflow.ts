import type { IWorkflowBuilder } from './graph/workflow-builder';

/** A workflow definition: a provider with `@Workflow`. */
export interface IWorkflow<TData = unknown> {
  /** Describes the graph. Called once, at startup; synchronous. */
  build(flow: IWorkflowBuilder<TData>): void;
}

/** The class of a workflow definition. */
export interface WorkflowType<TData = unknown> {
  readonly name: string;
  readonly prototype: IWorkflow<TData>;
}

/** A class whose instances a workflow's document are. Its constructor is not run for documents that come from the store. */
export interface DataType<TData = unknown> {
  readonly name: string;
  readonly prototype: TData;
}
