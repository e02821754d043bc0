import type { DefinitionRegistration, WorkflowDefinitionRecord } from '../../lib/storage';
import type { Dialect } from './dialect';
import { insertRows } from './insert-rows';
import { type Operation, query } from './operation';
import { DEFINITION_COLUMNS, definitionKeyOf, definitionOf, definitionToRow } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';
import { givesRows } from './upsert';

const COLUMNS = DEFINITION_COLUMNS.join(', ');
const REPLACED = ['shape_hash', 'graph', 'registered_at'] as const;

const byKey = { table: 'workflow_definitions', where: 'definition_key = :key' } as const;

/**
 * The shape of version `:key`, for a statement that goes by it: whoever would replace it waits for the commit. A value, not a
 * condition: databases are free to share no lock on a row that fails its condition.
 */
export function sharedShape(d: Dialect): string {
  return `(${d.select({ ...byKey, columns: 'shape_hash', lock: 'share' })})`;
}

export const definitionStatements = {
  get: { name: 'get_definition', text: (d) => d.select({ ...byKey, columns: COLUMNS }) },
  // A write that changes nothing: SQL Server would grant a lock for an update beside the shared ones.
  lock: {
    name: 'lock_definition',
    text: (d) =>
      d.update({
        table: 'workflow_definitions',
        as: 'x',
        set: 'version = x.version',
        where: 'x.definition_key = :key',
        returning: DEFINITION_COLUMNS,
      }),
  },
  insertUnlessTaken: {
    name: 'insert_definition',
    text: (d) =>
      insertRows(d, {
        table: 'workflow_definitions',
        columns: DEFINITION_COLUMNS,
        rows: ':definition',
        unlessTaken: 'definition_key',
        returning: ['definition_key'],
      }),
  },
  replace: {
    name: 'replace_definition',
    text: (d) =>
      d.update({
        table: 'workflow_definitions',
        as: 'x',
        set: REPLACED.map((column) => `${column} = r.${column}`).join(', '),
        from: d.rowset(':definition', typesOf('workflow_definitions', DEFINITION_COLUMNS), 'r'),
        where: 'x.definition_key = :key',
        returning: ['definition_key'],
      }),
  },
  liveInOtherShapes: {
    name: 'live_in_other_shapes',
    text: (d) =>
      d.select({
        columns: 'count(*) as live',
        table: 'workflow_instances',
        where: 'state in (0, 1) and definition_id = :id and definition_version = :version and shape_hash <> :hash',
      }),
  },
} satisfies Record<string, Statement>;

/**
 * Stores which shape a version has. See IWorkflowStorage.registerDefinition.
 *
 * The definition's lock comes before any other. Who starts an instance shares it until the commit, so that what counts live
 * instances under it sees each of those that went before, and those that come after see the shape that it leaves.
 */
export function* registerDefinition(
  definition: WorkflowDefinitionRecord,
  replace: boolean,
): Operation<DefinitionRegistration> {
  const key = definitionKeyOf(definition.id, definition.version);
  for (;;) {
    const [row] = yield* query(definitionStatements.lock, { key });
    if (row) return yield* registerAgain(key, definitionOf(row), definition, replace);
    const inserted = { definition: JSON.stringify([definitionToRow(definition)]) };
    // Where it is taken after all, another node has stored it in between: decide anew against that.
    if (yield* givesRows(definitionStatements.insertUnlessTaken, inserted)) return { outcome: 'registered' };
  }
}

/** @param stored what is locked */
function* registerAgain(
  key: string,
  stored: WorkflowDefinitionRecord,
  definition: WorkflowDefinitionRecord,
  replace: boolean,
): Operation<DefinitionRegistration> {
  if (stored.shapeHash === definition.shapeHash) {
    if (stored.graph !== definition.graph) yield* write(key, { ...stored, graph: definition.graph });
    return { outcome: 'unchanged' };
  }
  const liveInstances = replace ? 0 : yield* countLiveInOtherShapes(definition);
  if (liveInstances > 0) return { outcome: 'refused', storedShapeHash: stored.shapeHash, liveInstances };
  yield* write(key, definition);
  return { outcome: 'replaced' };
}

function* write(key: string, definition: WorkflowDefinitionRecord): Operation<void> {
  yield* query(definitionStatements.replace, { key, definition: JSON.stringify([definitionToRow(definition)]) });
}

function* countLiveInOtherShapes({ id, version, shapeHash }: WorkflowDefinitionRecord): Operation<number> {
  const [row] = yield* query(definitionStatements.liveInOtherShapes, { id, version, hash: shapeHash });
  return Number(row?.['live'] ?? 0);
}

/** Whether this is what a registration would leave. A look that waits for nobody: most nodes start on what is registered. */
export function* isRegistered({ id, version, shapeHash, graph }: WorkflowDefinitionRecord): Operation<boolean> {
  const stored = yield* getDefinition(id, version);
  return stored !== null && stored.shapeHash === shapeHash && stored.graph === graph;
}

/** See IWorkflowStorage.getDefinition. */
export function* getDefinition(id: string, version: number): Operation<WorkflowDefinitionRecord | null> {
  const [row] = yield* query(definitionStatements.get, { key: definitionKeyOf(id, version) });
  return row ? definitionOf(row) : null;
}
