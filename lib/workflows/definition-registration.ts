import { Inject, Injectable, Logger } from '@nestjs/common';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { IWorkflowStorage } from '../storage/workflow-storage';
import { exportGraph } from './graph/graph-export';
import { ChangedShapeError } from './workflow.errors';
import { type RegisteredWorkflow, workflowKey, WorkflowRegistry } from './workflow-registry';

/** Tells the store which shape each version has, so that no node runs an instance on another one. */
@Injectable()
export class DefinitionRegistration {
  private readonly logger = new Logger('Millrace');

  constructor(
    @Inject(WorkflowRegistry) private readonly registry: WorkflowRegistry,
    @Inject(IWorkflowStorage) private readonly storage: IWorkflowStorage,
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
  ) {}

  /** @throws {ChangedShapeError} live instances of a version stand in another shape than the one that was built */
  async register(): Promise<void> {
    for (const workflow of this.registry.all()) await this.registerOne(workflow);
  }

  private async registerOne({ id, version, shapeHash, graph }: RegisteredWorkflow): Promise<void> {
    const key = workflowKey(id, version);
    const definition = {
      id,
      version,
      shapeHash,
      graph: JSON.stringify(exportGraph(graph)),
      registeredAt: this.options.clock.now(),
    };
    const accepted = this.options.acceptChangedShapes.includes(key);
    const answer = await this.storage.registerDefinition(definition, accepted);
    if (answer.outcome === 'refused') throw new ChangedShapeError(key, answer.liveInstances);
    if (answer.outcome === 'replaced')
      this.logger.warn(`The stored graph of workflow ${key} was replaced by another one.`);
  }
}
