import type { InstanceId, JobId } from '../../model/ids';
import { JobState } from '../../model/job-state';
import {
  type Advance,
  type AdvanceEvent,
  type InstanceChange,
  type InstanceUpdate,
  isInstanceTerminal,
  type RunningStep,
  type ScopeCancellation,
  type WorkflowInstance,
} from '../../model/workflow-instance';
import { InstanceKeyHeldError } from '../storage.errors';
import { cancelPending, requestCancel } from './cancel';
import { copyInstance } from './copies';
import { enqueue } from './enqueue';
import type { StoredInstance } from './instance-table';
import type { StoredJob } from './stored-job';
import type { Tables } from './tables';

const MAX_CALLS = 1000;

/**
 * Moves an instance on: calls `advance`, writes what it wants, and calls it again for as long as it cancels something.
 *
 * @param unborn jobs that advances of this operation have inserted: a cancellation takes them back
 * @returns whether anything moved
 */
export function advanceInstance(
  tables: Tables,
  id: InstanceId,
  advance: Advance,
  unborn: Set<JobId>,
  now: Date,
): boolean {
  const instance = tables.instances.get(id);
  if (instance === undefined) return false;
  const revision = instance.record.revision + 1;
  let event: AdvanceEvent = { kind: 'called' };
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const change = advance(copyInstance(instance.record), event);
    if (change === null) return calls > 0;
    const cancelled = write(tables, instance, change, revision, unborn, now);
    if (change.cancel === null) return true;
    const scopes = [...change.cancel.scopes];
    event = { kind: 'cancelled', scopes, stillRunning: stillRunning(tables, id, scopes), cancelled };
  }
  throw new Error(`Instance ${id} was told ${MAX_CALLS} times that its cancellation is done, and cancels again.`);
}

/** Answers the jobs that its cancellation has kept from running. */
function write(
  tables: Tables,
  instance: StoredInstance,
  change: InstanceChange,
  revision: number,
  unborn: Set<JobId>,
  now: Date,
): RunningStep[] {
  const { id } = instance.record;
  const cancelled = change.cancel ? cancelScopes(tables, id, change.cancel, unborn, now) : [];
  removeBookmarks(tables, id, change.removeBookmarks);
  const moved = movedRecord(tables, instance.record, change.instance, now);
  tables.instances.update(instance, { ...moved, revision });
  for (const bookmark of change.addBookmarks) tables.bookmarks.add(bookmark);
  enqueue(tables, change.enqueue, now);
  for (const job of change.enqueue) unborn.add(job.id);
  return cancelled;
}

function movedRecord(tables: Tables, before: WorkflowInstance, update: InstanceUpdate, now: Date): WorkflowInstance {
  const { state, data, dataTypes, cursor, suspendedReason, failure, lastDecisionId } = update;
  const finishedAt = isInstanceTerminal(state) ? (before.finishedAt ?? now) : null;
  const after = { ...before, state, data, dataTypes, cursor, suspendedReason, failure, lastDecisionId };
  if (finishedAt === null) checkStartKey(tables, before);
  return { ...after, updatedAt: now, finishedAt };
}

/** An instance that lives again needs its start key again. */
function checkStartKey({ instances }: Tables, instance: WorkflowInstance): void {
  const holder = instances.holderOf(instance);
  if (holder !== undefined && holder !== instance.id) throw new InstanceKeyHeldError(instance.id, holder);
}

function cancelScopes(
  tables: Tables,
  id: InstanceId,
  { scopes, running }: ScopeCancellation,
  unborn: Set<JobId>,
  now: Date,
): RunningStep[] {
  const { jobs } = tables;
  const cancelled: RunningStep[] = [];
  for (const job of jobsIn(tables, id, scopes)) {
    if (job.record.state !== JobState.Processing) {
      cancelled.push(stepOf(job));
      if (unborn.has(job.record.id)) jobs.remove(job);
      else cancelPending(tables, job, now);
    } else if (running === 'abort') requestCancel(tables, job);
    else jobs.update(job, { ...job.record, closing: true });
  }
  return cancelled;
}

function removeBookmarks(
  { bookmarks }: Tables,
  id: InstanceId,
  { ids = [], scopes = [] }: InstanceChange['removeBookmarks'],
): void {
  for (const bookmarkId of ids) bookmarks.remove(bookmarkId);
  if (scopes.length === 0) return;
  for (const bookmark of bookmarks.ofInstance(id)) {
    if (isWithin(bookmark.scope, scopes)) bookmarks.remove(bookmark.id);
  }
}

function stillRunning(tables: Tables, id: InstanceId, scopes: readonly string[]): RunningStep[] {
  return jobsIn(tables, id, scopes)
    .filter(({ record }) => record.state === JobState.Processing)
    .map(stepOf);
}

function stepOf({ record }: StoredJob): RunningStep {
  return { id: record.id, position: record.position, scope: record.scope ?? '' };
}

/** The open jobs of an instance at or below these scopes, by id. */
function jobsIn({ jobs }: Tables, id: InstanceId, scopes: readonly string[]): StoredJob[] {
  return [...jobs.openOfInstance(id)]
    .filter(({ record }) => isWithin(record.scope ?? '', scopes))
    .toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
}

function isWithin(scope: string, scopes: readonly string[]): boolean {
  return scopes.some((path) => scope.startsWith(path));
}
