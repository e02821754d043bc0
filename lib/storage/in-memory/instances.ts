import type { InstanceId } from '../../model/ids';
import { isInstanceTerminal } from '../../model/workflow-instance';
import { DuplicateInstanceError } from '../storage.errors';
import type { NewInstance } from '../workflow-storage';
import { checkShape } from './definitions';
import { enqueue } from './enqueue';
import type { Tables } from './tables';

/** Stores an instance with its first jobs and waits, unless a live one holds its start key: then answers that one's id. */
export function createInstance(tables: Tables, { instance, jobs, bookmarks }: NewInstance, now: Date): InstanceId {
  const { id, state } = instance;
  if (tables.instances.get(id)) throw new DuplicateInstanceError(id);
  const holder = tables.instances.holderOf(instance);
  if (holder !== undefined) return holder;
  checkShape(tables, instance);
  const finishedAt = isInstanceTerminal(state) ? (instance.finishedAt ?? now) : null;
  tables.instances.insert({ ...instance, revision: 1, finishedAt });
  enqueue(tables, jobs, now);
  for (const bookmark of bookmarks) tables.bookmarks.add(bookmark);
  return id;
}
