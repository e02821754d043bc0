import {
  DefinitionChangedError,
  DuplicateInstanceError,
  type InstanceId,
  isInstanceTerminal,
  type NewInstance,
  StorageError,
  type WorkflowInstance,
} from '../../lib/storage';
import { insertBookmarks } from './bookmarks';
import { getDefinition, sharedShape } from './definitions';
import type { Dialect } from './dialect';
import { enqueue } from './enqueue';
import { insertRows } from './insert-rows';
import { type Operation, query } from './operation';
import { activeStartKeyOf, definitionKeyOf, INSTANCE_COLUMNS, instanceToRow } from './rows';
import type { Statement } from './statement';
import { givesRows } from './upsert';

const COLUMNS = [...INSTANCE_COLUMNS, 'active_start_key'] as const;

/**
 * Gives no row where the id is stored, none where the version is registered with another shape, and with `keyed` none
 * where a live instance holds the start key.
 */
const insert = (d: Dialect, keyed: boolean) =>
  insertRows(d, {
    table: 'workflow_instances',
    columns: COLUMNS,
    rows: ':instance',
    where:
      `not exists (select 1 from ${d.table('workflow_instances')} as x where x.id = :id) ` +
      `and coalesce(${sharedShape(d)}, :shape) = :shape`,
    ...(keyed && { unlessTaken: 'active_start_key' as const }),
    returning: ['id'],
  });

export const createInstanceStatements = {
  insert: { name: 'create_instance', text: (d) => insert(d, false) },
  insertUnlessTaken: { name: 'create_keyed_instance', text: (d) => insert(d, true) },
  exists: {
    name: 'instance_exists',
    text: (d) => d.select({ columns: 'id', table: 'workflow_instances', where: 'id = :id' }),
  },
  holder: {
    name: 'start_key_holder',
    text: (d) => d.select({ columns: 'id', table: 'workflow_instances', where: 'active_start_key = :key' }),
  },
} satisfies Record<string, Statement>;

const ROUNDS = 5;

/**
 * Stores an instance with its first jobs and waits. See IWorkflowStorage.createInstance.
 *
 * Locks are taken in one order: the definition, shared and in the statement of the insert, then the instance and its start key.
 *
 * @param again an earlier run may have been committed: then the instance is there
 */
export function* createInstance(
  d: Dialect,
  { instance, jobs, bookmarks }: NewInstance,
  now: number,
  again: boolean,
): Operation<InstanceId> {
  if (again && (yield* exists(instance.id))) return instance.id;
  const holder = yield* insertUnlessHeld(firstRecord(instance, new Date(now)));
  if (holder !== null) return holder;
  if (jobs.length > 0) yield* enqueue(d, jobs, now, false);
  yield* insertBookmarks(bookmarks);
  return instance.id;
}

function firstRecord(instance: WorkflowInstance, now: Date): WorkflowInstance {
  const finishedAt = isInstanceTerminal(instance.state) ? (instance.finishedAt ?? now) : null;
  return { ...instance, revision: 1, finishedAt };
}

/** Answers null when the instance is stored, or the live one that holds its start key. */
function* insertUnlessHeld(instance: WorkflowInstance): Operation<InstanceId | null> {
  const { id, definitionId, definitionVersion, shapeHash, startKey, state } = instance;
  const key = activeStartKeyOf(instance.tenantId, definitionId, startKey);
  // What has ended by its start takes no key, but does not come into being beside a live holder either.
  const taken = isInstanceTerminal(state) ? null : key;
  if (key !== taken) {
    const holder = yield* holderOf(key);
    if (holder !== null) return holder;
  }
  const values = {
    id,
    instance: JSON.stringify([instanceToRow(instance, taken)]),
    key: definitionKeyOf(definitionId, definitionVersion),
    shape: shapeHash,
  };
  const statement = taken === null ? createInstanceStatements.insert : createInstanceStatements.insertUnlessTaken;
  for (let round = 0; round < ROUNDS; round++) {
    if (yield* givesRows(statement, values)) return null;
    if (yield* exists(id)) throw new DuplicateInstanceError(id);
    const holder = yield* holderOf(taken);
    if (holder !== null) return holder;
    const registered = yield* getDefinition(definitionId, definitionVersion);
    if (registered && registered.shapeHash !== shapeHash)
      throw new DefinitionChangedError(definitionId, definitionVersion);
    // What was in the way is gone by now: insert again.
  }
  throw new StartUnresolvableError(id);
}

function* holderOf(key: string | null): Operation<InstanceId | null> {
  const [holder] = key === null ? [] : yield* query(createInstanceStatements.holder, { key });
  return holder ? String(holder['id']) : null;
}

function* exists(id: InstanceId): Operation<boolean> {
  return yield* givesRows(createInstanceStatements.exists, { id });
}

/** Thrown when something was in the way of a start at each of several tries, and gone at each look. Nothing was stored. */
export class StartUnresolvableError extends StorageError {
  readonly code = 'MILLRACE_START_UNRESOLVABLE';

  constructor(readonly instanceId: InstanceId) {
    super(
      `What kept workflow instance ${instanceId} from being started, its start key or the shape of its version, changed at ` +
        'every look. Nothing was stored; start again.',
    );
  }
}
