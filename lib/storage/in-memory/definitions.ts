import type { DefinitionRegistration, WorkflowDefinitionRecord } from '../../model/workflow-definition';
import { isInstanceTerminal, type WorkflowInstance } from '../../model/workflow-instance';
import { DefinitionChangedError } from '../storage.errors';
import type { Tables } from './tables';

/** See IWorkflowStorage.registerDefinition. */
export function registerDefinition(
  tables: Tables,
  definition: WorkflowDefinitionRecord,
  replace: boolean,
): DefinitionRegistration {
  const stored = tables.definitions.get(definition.id, definition.version);
  if (stored === undefined) {
    tables.definitions.put(definition);
    return { outcome: 'registered' };
  }
  if (stored.shapeHash === definition.shapeHash) {
    tables.definitions.put({ ...stored, graph: definition.graph });
    return { outcome: 'unchanged' };
  }
  const liveInstances = replace ? 0 : liveInOtherShapes(tables, definition);
  if (liveInstances > 0) return { outcome: 'refused', storedShapeHash: stored.shapeHash, liveInstances };
  tables.definitions.put(definition);
  return { outcome: 'replaced' };
}

/** An instance is started on the shape that is registered, where one is. */
export function checkShape({ definitions }: Tables, instance: WorkflowInstance): void {
  const { definitionId, definitionVersion, shapeHash } = instance;
  const stored = definitions.get(definitionId, definitionVersion);
  if (stored !== undefined && stored.shapeHash !== shapeHash) {
    throw new DefinitionChangedError(definitionId, definitionVersion);
  }
}

function liveInOtherShapes({ instances }: Tables, { id, version, shapeHash }: WorkflowDefinitionRecord): number {
  let live = 0;
  for (const { record } of instances.all()) {
    const isOf = record.definitionId === id && record.definitionVersion === version;
    if (isOf && record.shapeHash !== shapeHash && !isInstanceTerminal(record.state)) live++;
  }
  return live;
}
