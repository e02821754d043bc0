import type { Bookmark, BookmarkId, InstanceId } from '../../../lib/storage';
import { chunksOf } from '../chunks';
import { insertRows } from '../insert-rows';
import { type Operation, query } from '../operation';
import { BOOKMARK_COLUMNS, bookmarkOf, bookmarkToRow } from '../rows';
import type { Statement } from '../statement';

const COLUMNS = BOOKMARK_COLUMNS.join(', ');

export const bookmarkStatements = {
  insert: {
    name: 'insert_bookmarks',
    text: (d) =>
      insertRows(d, { table: 'bookmarks', columns: BOOKMARK_COLUMNS, rows: ':bookmarks', returning: ['id'] }),
  },
  remove: {
    name: 'remove_bookmarks',
    text: (d) => d.delete({ table: 'bookmarks', as: 'b', where: d.inList('b.id', ':ids', 'id'), returning: ['id'] }),
  },
  removeOfInstance: {
    name: 'remove_bookmarks_of_instance',
    text: (d) =>
      d.delete({
        table: 'bookmarks',
        as: 'b',
        where: `b.instance_id = :instanceId and ${d.inList('b.id', ':ids', 'id')}`,
        returning: ['id'],
      }),
  },
  removeWithin: {
    name: 'remove_bookmarks_within',
    text: (d) =>
      d.delete({
        table: 'bookmarks',
        as: 'b',
        where:
          'b.instance_id = :instanceId and exists (select 1 from ' +
          `${d.rowset(':scopes', { scope: 'text(800)' }, 's')} where ${d.startsWith('b.scope', 's.scope')})`,
        returning: ['id'],
      }),
  },
  removeOfInstances: {
    name: 'remove_bookmarks_of_instances',
    text: (d) =>
      d.delete({
        table: 'bookmarks',
        as: 'b',
        where: d.inList('b.instance_id', ':instanceIds', 'id'),
        returning: ['id'],
      }),
  },
  ofInstance: {
    name: 'bookmarks_of_instance',
    text: (d) =>
      d.select({ columns: COLUMNS, table: 'bookmarks', where: 'instance_id = :instanceId', orderBy: 'created_at, id' }),
  },
} satisfies Record<string, Statement>;

/** Stores waits. */
export function* insertBookmarks(bookmarks: readonly Bookmark[]): Operation<void> {
  for (const chunk of chunksOf(bookmarks.map((bookmark) => JSON.stringify(bookmarkToRow(bookmark))))) {
    yield* query(bookmarkStatements.insert, { bookmarks: chunk });
  }
}

/**
 * Removes waits of one instance: those named, and those at or below one of these scope paths. Waits for a signal that
 * holds one of them; what has been consumed by then is no longer there to be removed.
 */
export function* removeBookmarks(
  instanceId: InstanceId,
  ids: readonly BookmarkId[],
  scopes: readonly string[],
): Operation<void> {
  if (ids.length > 0) yield* query(bookmarkStatements.removeOfInstance, { instanceId, ids: JSON.stringify(ids) });
  if (scopes.length === 0) return;
  const rows = scopes.map((scope) => ({ scope }));
  yield* query(bookmarkStatements.removeWithin, { instanceId, scopes: JSON.stringify(rows) });
}

/** Oldest first. See IWorkflowStorage.getBookmarks. */
export function* getBookmarks(instanceId: InstanceId): Operation<Bookmark[]> {
  return (yield* query(bookmarkStatements.ofInstance, { instanceId })).map(bookmarkOf);
}
