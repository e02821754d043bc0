import type { WorkflowDefinitionRecord } from '../../model/workflow-definition';
import type { Changes } from './changes';
import { copyWorkflowDefinition } from './copies';

/** All workflow definitions that were ever registered. */
export class DefinitionTable {
  private readonly byKey = new Map<string, WorkflowDefinitionRecord>();

  constructor(private readonly changes: Changes) {}

  get(id: string, version: number): WorkflowDefinitionRecord | undefined {
    return this.byKey.get(keyOf(id, version));
  }

  all(): Iterable<WorkflowDefinitionRecord> {
    return this.byKey.values();
  }

  put(definition: WorkflowDefinitionRecord): void {
    const key = keyOf(definition.id, definition.version);
    const before = this.byKey.get(key);
    this.byKey.set(key, copyWorkflowDefinition(definition));
    this.changes.record(() => {
      if (before === undefined) this.byKey.delete(key);
      else this.byKey.set(key, before);
    });
  }
}

function keyOf(id: string, version: number): string {
  return `${id}@${version}`;
}
