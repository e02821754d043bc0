import type { WorkflowDefinitionRecord } from '../../../lib/storage';
import type { Row } from '../operation';
import { epoch, instant, number, text } from './values';

export const DEFINITION_COLUMNS = ['definition_key', 'id', 'version', 'shape_hash', 'graph', 'registered_at'] as const;

/** One column, so that one unique index says that there is one row of a version. */
export function definitionKeyOf(id: string, version: number): string {
  return `${id}@${version}`;
}

export function definitionOf(row: Row): WorkflowDefinitionRecord {
  return {
    id: text(row['id']),
    version: number(row['version']),
    shapeHash: text(row['shape_hash']),
    graph: text(row['graph']),
    registeredAt: instant(row['registered_at']),
  };
}

export function definitionToRow({ id, version, shapeHash, graph, registeredAt }: WorkflowDefinitionRecord) {
  return {
    definition_key: definitionKeyOf(id, version),
    id,
    version,
    shape_hash: shapeHash,
    graph,
    registered_at: epoch(registeredAt),
  } as const;
}
