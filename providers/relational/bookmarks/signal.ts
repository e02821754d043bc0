import type { Bookmark, JobRecord, SignalDelivery } from '../../../lib/storage';
import type { Dialect, LockMode } from '../dialect';
import { enqueue } from '../enqueue';
import { isStored } from '../get-job';
import { type Operation, query, type Row } from '../operation';
import { BOOKMARK_COLUMNS, bookmarkOf } from '../rows';
import type { Statement } from '../statement';
import { bookmarkStatements } from './store';

/** The bookmark that a signal would consume next: of those that match, the one that has waited longest. */
const oldest = (d: Dialect, tenant: string, lock?: LockMode) =>
  d.select({
    columns: BOOKMARK_COLUMNS.join(', '),
    table: 'bookmarks',
    where: `signal_name = :name and correlation_id = :correlationId and ${tenant}`,
    orderBy: 'created_at, id',
    limit: '1',
    ...(lock && { lock }),
  });

const OF_TENANT = 'tenant_id = :tenantId';
const UNTENANTED = 'tenant_id is null';

export const signalStatements = {
  lock: { name: 'lock_bookmark', text: (d) => oldest(d, OF_TENANT, 'wait') },
  lockUntenanted: { name: 'lock_untenanted_bookmark', text: (d) => oldest(d, UNTENANTED, 'wait') },
  peek: { name: 'peek_bookmark', text: (d) => oldest(d, OF_TENANT) },
  peekUntenanted: { name: 'peek_untenanted_bookmark', text: (d) => oldest(d, UNTENANTED) },
} satisfies Record<string, Statement>;

/** What a wait is found by. */
type Address = Pick<SignalDelivery, 'name' | 'correlationId' | 'tenantId'>;

/**
 * Delivers a signal: consumes the oldest matching wait and stores its resume job. See IWorkflowStorage.signal.
 *
 * @param again an earlier run may have been committed: then its resume job is there
 */
export function* signal(d: Dialect, delivery: SignalDelivery, now: number, again: boolean): Operation<boolean> {
  if (again && (yield* isStored(delivery.job.id))) return true;
  const bookmark = yield* lockOldest(delivery);
  if (bookmark === null) return false;
  yield* resume(d, [{ bookmark, job: delivery.job }], now);
  return true;
}

/** See IWorkflowStorage.peekBookmark. */
export function* peekBookmark(
  name: string,
  correlationId: string,
  tenantId: string | null,
): Operation<Bookmark | null> {
  const row = yield* ask({ name, correlationId, tenantId }, signalStatements.peek, signalStatements.peekUntenanted);
  return row ? bookmarkOf(row) : null;
}

/** Consumes waits whose rows are locked, and stores the jobs that resume their instances. */
export function* resume(
  d: Dialect,
  waits: readonly { readonly bookmark: Bookmark; readonly job: JobRecord }[],
  now: number,
): Operation<void> {
  if (waits.length === 0) return;
  yield* query(bookmarkStatements.remove, { ids: JSON.stringify(waits.map(({ bookmark }) => bookmark.id)) });
  const jobs = waits.map(({ bookmark: { instanceId, position, scope }, job }) => ({
    ...job,
    instanceId,
    position,
    scope,
  }));
  yield* enqueue(d, jobs, now, false);
}

function* lockOldest(delivery: SignalDelivery): Operation<Bookmark | null> {
  for (;;) {
    const row = yield* ask(delivery, signalStatements.lock, signalStatements.lockUntenanted);
    if (row) return bookmarkOf(row);
    // What the lock waited for may be consumed by now, and a newer wait have come that its snapshot does not show.
    if (!(yield* ask(delivery, signalStatements.peek, signalStatements.peekUntenanted))) return null;
  }
}

function* ask(address: Address, ofTenant: Statement, untenanted: Statement): Operation<Row | undefined> {
  const { name, correlationId, tenantId } = address;
  const rows =
    tenantId === null
      ? yield* query(untenanted, { name, correlationId })
      : yield* query(ofTenant, { name, correlationId, tenantId });
  return rows[0];
}
