import {
  DuplicateInstanceError,
  type InstanceId,
  isInstanceTerminal,
  type NewInstance,
  StorageError,
  type WorkflowInstance,
} from '../../lib/storage';
import { insertBookmarks } from './bookmarks';
import type { Dialect } from './dialect';
import { enqueue } from './enqueue';
import { insertRows } from './insert-rows';
import { type Operation, query } from './operation';
import { activeStartKeyOf, INSTANCE_COLUMNS, instanceToRow } from './rows';
import type { Statement } from './statement';
import { givesRows } from './upsert';

const COLUMNS = [...INSTANCE_COLUMNS, 'active_start_key'] as const;

/** Gives no row where the id is stored, and with `keyed` none where a live instance holds the start key. */
const insert = (d: Dialect, keyed: boolean) =>
  insertRows(d, {
    table: 'workflow_instances',
    columns: COLUMNS,
    rows: ':instance',
    where: `not exists (select 1 from ${d.table('workflow_instances')} as x where x.id = :id)`,
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

const KEY_ROUNDS = 5;

/**
 * Stores an instance with its first jobs and waits. See IWorkflowStorage.createInstance.
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
  const { id, tenantId, definitionId, startKey, state } = instance;
  const key = isInstanceTerminal(state) ? null : activeStartKeyOf(tenantId, definitionId, startKey);
  const statement = key === null ? createInstanceStatements.insert : createInstanceStatements.insertUnlessTaken;
  for (let round = 0; round < KEY_ROUNDS; round++) {
    if (yield* givesRows(statement, { id, instance: JSON.stringify([instanceToRow(instance, key)]) })) return null;
    if (yield* exists(id)) throw new DuplicateInstanceError(id);
    const [holder] = key === null ? [] : yield* query(createInstanceStatements.holder, { key });
    if (holder) return String(holder['id']);
    // The holder ended between the two statements and left the key free: insert again.
  }
  throw new StartKeyUnresolvableError(startKey ?? '');
}

function* exists(id: InstanceId): Operation<boolean> {
  return yield* givesRows(createInstanceStatements.exists, { id });
}

/** Thrown when a start key was held at each of several tries and its holder gone at each look. Nothing was stored. */
export class StartKeyUnresolvableError extends StorageError {
  readonly code = 'MILLRACE_START_KEY_UNRESOLVABLE';

  constructor(readonly startKey: string) {
    super(`The live instance with key "${startKey}" changed at every look. Nothing was stored; start again.`);
  }
}
