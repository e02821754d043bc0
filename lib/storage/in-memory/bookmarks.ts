import type { Bookmark } from '../../model/bookmark';
import type { JobRecord } from '../../model/job';
import type { SignalDelivery } from '../workflow-storage';
import { copyBookmark } from './copies';
import { enqueue } from './enqueue';
import type { Tables } from './tables';

/** Wakes whoever has waited longest for a signal. */
export function signal(tables: Tables, { name, correlationId, tenantId, job }: SignalDelivery, now: Date): boolean {
  const bookmark = tables.bookmarks.oldest(name, correlationId, tenantId);
  if (bookmark === undefined) return false;
  consume(tables, bookmark, job, now);
  return true;
}

/** Ends the waits whose time has come, those first that gave up first. */
export function expireBookmarks(
  tables: Tables,
  limit: number,
  resume: (bookmark: Bookmark) => JobRecord,
  now: Date,
): number {
  let ended = 0;
  while (ended < limit && hasExpiredBookmark(tables, now)) {
    const bookmark = tables.bookmarks.firstToExpire();
    if (bookmark === undefined) break;
    consume(tables, bookmark, resume(copyBookmark(bookmark)), now);
    ended++;
  }
  return ended;
}

export function hasExpiredBookmark({ bookmarks }: Tables, now: Date): boolean {
  const expiresAt = bookmarks.firstToExpire()?.expiresAt;
  return expiresAt !== null && expiresAt !== undefined && expiresAt <= now;
}

/** Puts the job that resumes an instance in the place of its wait. */
function consume(tables: Tables, bookmark: Bookmark, job: JobRecord, now: Date): void {
  const { id, instanceId, position, scope } = bookmark;
  tables.bookmarks.remove(id);
  enqueue(tables, [{ ...job, instanceId, position, scope }], now);
}
