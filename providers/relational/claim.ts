import { type ClaimedJob, type ClaimRequest, SUSPECT_INTERRUPTIONS } from '../../lib/storage';
import { recordAttempts } from './attempts';
import type { Dialect, SelectParts } from './dialect';
import { type Operation, query, type Row } from './operation';
import { CLAIMED_COLUMNS, claimedJobOf, MOSTLY_ZERO } from './rows';
import type { Statement } from './statement';

const ORDER = 'priority desc, ready_at, id';
const READY = 'state = 1 and interruptions < 2';
const SUSPECT = 'state = 1 and interruptions >= 2';
const ROUNDS = 3;

export const notPaused = (d: Dialect, queue: string) =>
  `not exists (select 1 from ${d.table('queues')} as p where p.name = ${queue} and p.paused = 1)`;

/** Stops at the job with which the arguments pass :maxPayload; the first one always fits. */
const withinPayload = (picked: string) =>
  `select id from (select id, sum(size) over (order by ${ORDER} rows unbounded preceding) - size as size_before ` +
  `from (${picked}) as picked) as measured where size_before < :maxPayload or size_before = 0`;

const measured = (d: Dialect, parts: Omit<SelectParts, 'columns' | 'table'>) =>
  withinPayload(
    d.select({ columns: `id, priority, ready_at, ${d.size('args')} as size`, table: 'jobs', lock: 'skip', ...parts }),
  );

/** Rechecks a state of rows found by id; `+ 0` keeps planners from walking that state's partial index as well. */
const stillIn = (state: number) => `j.state + 0 = ${state}`;

const take = (d: Dialect, where: string, set = '') =>
  d.update({
    table: 'jobs',
    as: 'j',
    set: `state = 2, worker_id = :workerId, lease_until = :leaseUntil, attempt = j.attempt + 1${set}`,
    where,
    returning: CLAIMED_COLUMNS,
    sparse: MOSTLY_ZERO,
  });

export const claimStatements = {
  /** The usual case: candidates and locks come from one walk along the index. */
  readyOfQueue: {
    name: 'claim_queue',
    text: (d) =>
      take(
        d,
        `${stillIn(1)} and ${d.inSelect(
          'j.id',
          measured(d, {
            where: `${READY} and queue = :queue and ${notPaused(d, ':queue')}`,
            orderBy: ORDER,
            limit: ':limit',
          }),
        )}`,
      ),
  },
  /** Picks from each queue without locks, merges, then locks what is still there. */
  readyOfQueues: {
    name: 'claim_queues',
    text: (d) => {
      const pick = { columns: 'k.id, k.priority, k.ready_at', table: 'jobs', as: 'k' } as const;
      const picks = d.forEach(
        ':queues',
        'q',
        {
          ...pick,
          where: `k.state = 1 and k.interruptions < 2 and k.queue = q.value and ${notPaused(d, 'q.value')}`,
          orderBy: 'k.priority desc, k.ready_at, k.id',
          limit: ':limit',
        },
        'c',
      );
      const merged = d.select({
        columns: 'c.id',
        table: 'jobs',
        from: picks,
        where: '1 = 1',
        orderBy: 'c.priority desc, c.ready_at, c.id',
        limit: ':limit',
      });
      return take(
        d,
        `${stillIn(1)} and ${d.inSelect('j.id', measured(d, { where: `state + 0 = 1 and interruptions < 2 and ${d.inSelect('id', merged)}` }))}`,
      );
    },
  },
  suspect: {
    name: 'claim_suspect',
    text: (d) =>
      take(
        d,
        `${stillIn(1)} and ${d.inSelect(
          'j.id',
          d.select({
            columns: 'id',
            table: 'jobs',
            where: `${SUSPECT} and ${d.inList('queue', ':queues', 'text(128)')} and ${notPaused(d, 'jobs.queue')}`,
            orderBy: ORDER,
            limit: '1',
            lock: 'skip',
          }),
        )}`,
      ),
  },
  lockExpired: {
    name: 'claim_lock_expired',
    text: (d) =>
      d.select({
        columns: `id, attempt, worker_id, ${d.size('args')} as size`,
        table: 'jobs',
        where:
          'state = 2 and lease_until <= :now and interruptions >= :least and interruptions <= :most and ' +
          `${d.inList('queue', ':queues', 'text(128)')} and ${notPaused(d, 'jobs.queue')}`,
        orderBy: 'lease_until, id',
        limit: ':limit',
        lock: 'skip',
      }),
  },
  takeOver: {
    name: 'claim_take_over',
    text: (d) =>
      take(d, `${stillIn(2)} and ${d.inList('j.id', ':ids', 'id')}`, ', interruptions = j.interruptions + 1'),
  },
  hasClaimable: {
    name: 'has_claimable',
    text: (d) =>
      d.select({
        columns: 'c.id',
        table: 'jobs',
        from: d.forEach(
          ':queues',
          'q',
          {
            columns: 'k.id',
            table: 'jobs',
            as: 'k',
            where: `k.state = 1 and k.interruptions < 2 and k.queue = q.value and ${notPaused(d, 'q.value')}`,
            orderBy: 'k.priority desc, k.ready_at, k.id',
            limit: '1',
          },
          'c',
        ),
        where: '1 = 1',
        limit: '1',
      }),
  },
} satisfies Record<string, Statement>;

const MOST_INTERRUPTIONS = 2 ** 31 - 1;

/** Claims ready jobs of one or several queues. Its statements are transactions of their own. */
export function* claimReady(request: ClaimRequest, now: number, limit: number): Operation<ClaimedJob[]> {
  const { workerId, leaseDuration, maxPayload, queues } = request;
  const [queue] = queues;
  if (limit <= 0 || queue === undefined) return [];
  const values = { workerId, leaseUntil: now + leaseDuration, maxPayload, limit };
  if (queues.length === 1) {
    return (yield* query(claimStatements.readyOfQueue, { ...values, queue })).map(claimedJobOf);
  }
  const list = JSON.stringify(queues);
  for (let round = 0; round < ROUNDS; round++) {
    const rows = yield* query(claimStatements.readyOfQueues, { ...values, queues: list });
    if (rows.length > 0) return rows.map(claimedJobOf);
    // Nothing was locked although there are candidates: other workers were faster, so look once more.
    if ((yield* query(claimStatements.hasClaimable, { queues: list })).length === 0) break;
  }
  return [];
}

/** Takes over expired leases: one that makes its job a suspect only with `suspects`, and then one at the most. */
export function* takeOverExpired(request: ClaimRequest, now: number, limit: number): Operation<ClaimedJob[]> {
  const least = SUSPECT_INTERRUPTIONS - 1;
  const values = { queues: JSON.stringify(request.queues), now };
  const fresh = yield* query(claimStatements.lockExpired, { ...values, least: 0, most: least - 1, limit });
  const suspects = request.suspects
    ? yield* query(claimStatements.lockExpired, { ...values, least, most: MOST_INTERRUPTIONS, limit: 1 })
    : [];
  const rows = firstWithin([...suspects, ...fresh].slice(0, limit), request.maxPayload);
  if (rows.length === 0) return [];

  yield* recordAttempts(
    rows.map((row) => ({
      job_id: row['id'],
      attempt: Number(row['attempt']),
      outcome: 'Interrupted',
      worker_id: row['worker_id'],
      error: null,
      recorded_at: now,
    })),
  );
  const taken = yield* query(claimStatements.takeOver, {
    workerId: request.workerId,
    leaseUntil: now + request.leaseDuration,
    ids: JSON.stringify(rows.map((row) => row['id'])),
  });
  return taken.map(claimedJobOf);
}

/** Claims one waiting suspect. */
export function* claimSuspect(request: ClaimRequest, now: number): Operation<ClaimedJob[]> {
  const rows = yield* query(claimStatements.suspect, {
    workerId: request.workerId,
    leaseUntil: now + request.leaseDuration,
    queues: JSON.stringify(request.queues),
  });
  return rows.map(claimedJobOf);
}

export function* hasClaimable(queues: readonly string[]): Operation<boolean> {
  return (yield* query(claimStatements.hasClaimable, { queues: JSON.stringify(queues) })).length > 0;
}

/** Priority, then age, then id: the database returns changed rows in any order. */
export function inClaimOrder(jobs: readonly ClaimedJob[]): ClaimedJob[] {
  return jobs.toSorted(
    (a, b) =>
      b.priority - a.priority ||
      (a.readyAt?.getTime() ?? 0) - (b.readyAt?.getTime() ?? 0) ||
      (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
}

function firstWithin(rows: readonly Row[], maxPayload: number): readonly Row[] {
  let size = 0;
  return rows.filter((row, index) => {
    const fits = index === 0 || size < maxPayload;
    size += Number(row['size']);
    return fits;
  });
}
