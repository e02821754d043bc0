import {
  type Advance,
  type InstanceId,
  InstanceKeyHeldError,
  InstanceNotFoundError,
  isInstanceTerminal,
  type JobTransition,
  type TransitionResult,
  type WorkflowInstance,
} from '../../lib/storage';
import { InstanceDraft } from './advance';
import { insertBookmarks, removeBookmarks } from './bookmarks';
import type { Dialect } from './dialect';
import { cancelJobs } from './continuations';
import { enqueue } from './enqueue';
import { type Operation, query, signalCancel } from './operation';
import { activeStartKeyOf, INSTANCE_COLUMNS, instanceOf, instanceToRow } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

const WRITTEN = [
  'id',
  'state',
  'data',
  'data_types',
  'cursor_json',
  'revision',
  'active_start_key',
  'suspended_reason',
  'failure',
  'last_decision_id',
  'updated_at',
  'finished_at',
] as const;

const byIds = (d: Dialect) => d.inList('id', ':ids', 'id');

export const instanceStatements = {
  lockFree: {
    name: 'lock_free_instances',
    text: (d) =>
      d.select({
        columns: INSTANCE_COLUMNS.join(', '),
        table: 'workflow_instances',
        where: byIds(d),
        orderBy: 'id',
        lock: 'skip',
      }),
  },
  lock: {
    name: 'lock_instance',
    text: (d) =>
      d.select({ columns: INSTANCE_COLUMNS.join(', '), table: 'workflow_instances', where: 'id = :id', lock: 'wait' }),
  },
  present: {
    name: 'present_instances',
    text: (d) => d.select({ columns: 'id', table: 'workflow_instances', where: byIds(d) }),
  },
  holder: {
    name: 'holder_of_start_key',
    text: (d) =>
      d.select({ columns: 'id', table: 'workflow_instances', where: 'active_start_key = :key and id <> :id' }),
  },
  write: {
    name: 'write_instances',
    text: (d) =>
      d.update({
        table: 'workflow_instances',
        as: 'i',
        set: WRITTEN.filter((column) => column !== 'id')
          .map((column) => `${column} = r.${column}`)
          .join(', '),
        from: d.rowset(':instances', typesOf('workflow_instances', WRITTEN), 'r'),
        where: 'i.id = r.id',
        returning: ['id'],
      }),
  },
  tellRunning: {
    name: 'tell_running_jobs',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set:
          'cancel_requested = case when r.cancel_requested = 1 then 1 else j.cancel_requested end, ' +
          'closing = case when r.closing = 1 then 1 else j.closing end',
        from: d.rowset(':jobs', typesOf('jobs', ['id', 'cancel_requested', 'closing']), 'r'),
        // Put back by the same flush, a job still is to know.
        where: 'j.id = r.id and j.finished_at is null',
        returning: ['id'],
      }),
  },
} satisfies Record<string, Statement>;

/** Locks the instances that these transitions move, by id, and answers for those whose instance is held or missing. */
export function* lockInstances(
  transitions: readonly JobTransition[],
  results: Map<JobTransition, TransitionResult>,
): Operation<Map<InstanceId, InstanceDraft>> {
  const moving = transitions.filter((transition) => transition.advance !== null && transition.instanceId !== null);
  const wanted = new Set(moving.map((transition) => transition.instanceId ?? ''));
  if (wanted.size === 0) return new Map();

  const rows = yield* query(instanceStatements.lockFree, { ids: JSON.stringify([...wanted]) });
  const drafts = new Map(rows.map(instanceOf).map((instance) => [instance.id, InstanceDraft.of(instance)]));
  const skipped = [...wanted].filter((id) => !drafts.has(id));
  if (skipped.length === 0) return drafts;

  const present = yield* query(instanceStatements.present, { ids: JSON.stringify(skipped) });
  const held = new Set(present.map((row) => row['id']));
  for (const transition of moving) {
    const id = transition.instanceId ?? '';
    if (drafts.has(id)) continue;
    results.set(
      transition,
      held.has(id) ? { outcome: 'held' } : { outcome: 'rejected', error: new InstanceNotFoundError(id, transition.id) },
    );
  }
  return drafts;
}

/** Writes what has been decided of instances: their rows, waits, and the jobs whose scopes end. Inserts no jobs. */
export function* writeDrafts(drafts: readonly InstanceDraft[], now: number): Operation<void> {
  const changed = drafts.filter((draft) => draft.changed);
  if (changed.length === 0) return;
  for (const { before, instance } of changed) if (isInstanceTerminal(before.state)) yield* checkKeyIsFree(instance);
  const rows = changed.map(({ instance }) => instanceToRow(instance, liveStartKey(instance)));
  yield* query(instanceStatements.write, { instances: JSON.stringify(rows) });
  for (const draft of changed) {
    yield* removeBookmarks(draft.instance.id, [...draft.removedBookmarks], [...draft.removedScopes]);
    yield* insertBookmarks(draft.bookmarks);
    yield* cancelJobs([...draft.cancelled], now);
    yield* tellRunning(draft);
  }
}

/** An instance that is opened again takes its key again, which another may hold by now. */
function* checkKeyIsFree(instance: WorkflowInstance): Operation<void> {
  const key = liveStartKey(instance);
  if (key === null) return;
  const [holder] = yield* query(instanceStatements.holder, { key, id: instance.id });
  if (holder) throw new InstanceKeyHeldError(instance.id, String(holder['id']));
}

function* tellRunning({ running }: InstanceDraft): Operation<void> {
  if (running.size === 0) return;
  const told = [...running].map(([id, how]) => ({
    id,
    cancel_requested: how === 'abort' ? 1 : 0,
    closing: how === 'finish' ? 1 : 0,
  }));
  yield* query(instanceStatements.tellRunning, { jobs: JSON.stringify(told) });
  for (const job of told) if (job.cancel_requested === 1) yield* signalCancel(job.id);
}

/** A decision about one instance that no job carries, see IWorkflowStorage.advanceInstance. */
export function* advanceInstance(d: Dialect, id: InstanceId, advance: Advance, now: Date): Operation<boolean> {
  const [row] = yield* query(instanceStatements.lock, { id });
  if (!row) return false;
  const draft = yield* InstanceDraft.of(instanceOf(row)).advance(advance, [], new Map(), now);
  if (!draft) return false;
  yield* writeDrafts([draft], now.getTime());
  if (draft.inserts.length > 0) yield* enqueue(d, draft.inserts, now.getTime(), false);
  return true;
}

function liveStartKey(instance: WorkflowInstance): string | null {
  if (isInstanceTerminal(instance.state)) return null;
  return activeStartKeyOf(instance.tenantId, instance.definitionId, instance.startKey);
}
