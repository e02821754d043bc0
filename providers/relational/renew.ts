import type { ClaimRef, JobId, Milliseconds, Renewal, RenewalAnswer } from '../../lib/storage';
import { type Operation, query, type Row } from './operation';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

export const renewStatements = {
  renew: {
    name: 'renew',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set: 'lease_until = :leaseUntil',
        where: d.inSelect(
          'j.id',
          d.select({
            columns: 'k.id',
            table: 'jobs',
            as: 'k',
            join: `join ${d.rowset(':claims', typesOf('jobs', ['id', 'attempt']), 'r')} on r.id = k.id and r.attempt = k.attempt`,
            where: `k.state + 0 = 2 and k.worker_id = :workerId and ${d.narrowTo('k.id', ':ids')}`,
            lock: 'skip',
          }),
        ),
        returning: ['id', 'attempt', 'cancel_requested'],
      }),
  },
  owned: {
    name: 'renew_owned',
    text: (d) =>
      d.select({
        columns: 'id, attempt, cancel_requested',
        table: 'jobs',
        where: 'state = 2 and lease_until is not null and worker_id = :workerId',
      }),
  },
} satisfies Record<string, Statement>;

/**
 * Extends leases and tells what became of each. See IJobStorage.renew. Its statements are transactions of their own.
 *
 * What the update skipped is told apart by a read that comes after it: a row that still is the worker's was locked by
 * somebody, and counts as renewed until a later beat knows better.
 */
export function* renew(
  workerId: string,
  claims: readonly ClaimRef[],
  leaseDuration: Milliseconds,
  now: number,
): Operation<Renewal> {
  const renewed = byId(claims.length === 0 ? [] : yield* extend(workerId, claims, now + leaseDuration));
  const owned = byId(yield* query(renewStatements.owned, { workerId }));

  const listed = new Set<JobId>();
  const answers = claims.map(({ id, attempt }): RenewalAnswer => {
    const row = [renewed.get(id), owned.get(id)].find((found) => Number(found?.['attempt']) === attempt);
    if (!row) return 'lost';
    listed.add(id);
    return Number(row['cancel_requested']) === 0 ? 'renewed' : 'cancelRequested';
  });
  const unlisted = [...owned.values()]
    .map((row): ClaimRef => ({ id: String(row['id']), attempt: Number(row['attempt']) }))
    .filter(({ id }) => !listed.has(id));
  return { answers, unlisted };
}

function* extend(workerId: string, claims: readonly ClaimRef[], leaseUntil: number): Operation<readonly Row[]> {
  return yield* query(renewStatements.renew, {
    workerId,
    leaseUntil,
    claims: JSON.stringify(claims.map(({ id, attempt }) => ({ id, attempt }))),
    ids: JSON.stringify(claims.map(({ id }) => id)),
  });
}

function byId(rows: readonly Row[]): Map<JobId, Row> {
  return new Map(rows.map((row) => [String(row['id']), row]));
}
