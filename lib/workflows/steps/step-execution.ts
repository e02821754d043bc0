import type { JobExecution } from '../../jobs/job-execution';
import type { InstanceId } from '../../model/ids';
import type { WorkflowInstance } from '../../model/workflow-instance';
import type { ActivityContext } from '../activity';
import { loopPathOf, type Position } from '../execution/position';
import type { WorkflowGraph } from '../graph/graph';

/** What one execution of an activity is given. */
export class StepExecution implements ActivityContext {
  readonly instanceId: InstanceId;
  readonly nodeId: string;
  readonly definitionId: string;
  readonly version: number;
  readonly loopPath: readonly number[];
  private readonly execution: JobExecution;

  constructor(
    execution: JobExecution,
    graph: WorkflowGraph,
    { id, definitionId, definitionVersion }: WorkflowInstance,
    { node, path }: Position,
    readonly data: unknown,
  ) {
    this.instanceId = id;
    this.nodeId = node;
    this.definitionId = definitionId;
    this.version = definitionVersion;
    this.loopPath = loopPathOf(path, graph.nodes);
    this.execution = execution;
  }

  get loopIndex(): number {
    return this.loopPath.at(-1) ?? 0;
  }

  get signal(): AbortSignal {
    return this.execution.signal;
  }
}
