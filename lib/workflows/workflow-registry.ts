import { Injectable } from '@nestjs/common';
import { shown } from '../model/checks';
import type { WorkflowGraph } from './graph/graph';
import type { DataType, WorkflowType } from './workflow';
import { DuplicateDefinitionError, WorkflowNotFoundError } from './workflow.errors';

/** A definition that this node has built. */
export interface RegisteredWorkflow {
  readonly id: string;
  readonly version: number;
  readonly graph: WorkflowGraph;
  readonly shapeHash: string;
  readonly data: DataType | undefined;
  readonly type: object;
  readonly className: string;
  readonly moduleName: string;
}

/** The workflow definitions of this node. Filled once, at startup. */
@Injectable()
export class WorkflowRegistry {
  private readonly byKey = new Map<string, RegisteredWorkflow>();
  private readonly newest = new Map<string, RegisteredWorkflow>();
  private readonly byType = new Map<object, RegisteredWorkflow>();
  private readonly checkedSignals = new Set<string>();

  /** @throws {DuplicateDefinitionError} another class has the id and version */
  add(workflow: RegisteredWorkflow): void {
    const key = workflowKey(workflow.id, workflow.version);
    const existing = this.byKey.get(key);
    if (existing !== undefined) {
      if (existing.type === workflow.type) return;
      throw new DuplicateDefinitionError(
        `workflows ${key}`,
        [existing.className, workflow.className],
        [existing.moduleName, workflow.moduleName],
        'Give one of them another id or version.',
      );
    }
    this.byKey.set(key, workflow);
    this.byType.set(workflow.type, workflow);
    if (workflow.version > (this.newest.get(workflow.id)?.version ?? 0)) this.newest.set(workflow.id, workflow);
    for (const node of workflow.graph.nodes.values()) {
      if (node.kind === 'WaitForSignal' && node.schema !== null) this.checkedSignals.add(node.signalName);
    }
  }

  all(): Iterable<RegisteredWorkflow> {
    return this.byKey.values();
  }

  get(id: string, version: number): RegisteredWorkflow | undefined {
    return this.byKey.get(workflowKey(id, version));
  }

  /** Whether some wait for this signal has a schema here. */
  checksSignal(name: string): boolean {
    return this.checkedSignals.has(name);
  }

  /**
   * What `start` means: the class's own version, or the newest one of an id, or the one that is asked for.
   *
   * @throws {WorkflowNotFoundError} this node has none
   */
  find(target: string | WorkflowType<never>, version: number | undefined): RegisteredWorkflow {
    if (typeof target !== 'string') return this.ofClass(target, version);
    const found = version === undefined ? this.newest.get(target) : this.get(target, version);
    if (found !== undefined) return found;
    const wanted = version === undefined ? `"${target}"` : workflowKey(target, version);
    throw new WorkflowNotFoundError(
      `This application has no workflow ${wanted}; it has ${this.keys()}. Provide its class, with @Workflow({ id, version }) on it.`,
    );
  }

  private ofClass(type: WorkflowType<never>, version: number | undefined): RegisteredWorkflow {
    const found = this.byType.get(type);
    if (found === undefined) {
      throw new WorkflowNotFoundError(
        `${shown(type)} is no workflow of this application: provide it, with @Workflow({ id, version }) on it.`,
      );
    }
    return version === undefined || version === found.version ? found : this.find(found.id, version);
  }

  private keys(): string {
    const keys = [...this.byKey.keys()].toSorted();
    return keys.length === 0 ? 'none' : keys.join(', ');
  }
}

export function workflowKey(id: string, version: number): string {
  return `${id}@${version}`;
}
