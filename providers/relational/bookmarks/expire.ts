import type { Bookmark, JobRecord } from '../../../lib/storage';
import type { Dialect } from '../dialect';
import { type Operation, query } from '../operation';
import { BOOKMARK_COLUMNS, bookmarkOf } from '../rows';
import type { Statement } from '../statement';
import { resume } from './signal';

export const expireStatements = {
  lock: {
    name: 'lock_expired_bookmarks',
    text: (d) =>
      d.select({
        columns: BOOKMARK_COLUMNS.join(', '),
        table: 'bookmarks',
        where: 'expires_at is not null and expires_at <= :now',
        orderBy: 'expires_at, id',
        limit: ':limit',
        lock: 'skip',
      }),
  },
} satisfies Record<string, Statement>;

/** Ends the waits whose time has come, those first that gave up first. See IWorkflowStorage.expireBookmarks. */
export function* expireBookmarks(
  d: Dialect,
  limit: number,
  resumeJobOf: (bookmark: Bookmark) => JobRecord,
  now: number,
): Operation<number> {
  if (limit <= 0) return 0;
  const expired = (yield* query(expireStatements.lock, { limit, now })).map(bookmarkOf);
  yield* resume(
    d,
    expired.map((bookmark) => ({ bookmark, job: resumeJobOf(bookmark) })),
    now,
  );
  return expired.length;
}
