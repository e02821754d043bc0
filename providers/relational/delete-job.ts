import type { JobId } from '../../lib/storage';
import { type Operation, query } from './operation';
import type { Statement } from './statement';

export const deleteStatements = {
  lock: {
    name: 'delete_lock',
    text: (d) => d.select({ columns: 'id', table: 'jobs', where: 'id = :id and state in (3, 5, 6)', lock: 'wait' }),
  },
  attempts: {
    name: 'delete_attempts',
    text: (d) =>
      d.delete({
        table: 'job_attempts',
        as: 'a',
        where: d.inList('a.job_id', ':ids', 'id'),
        returning: ['job_id'],
      }),
  },
  jobs: {
    name: 'delete_jobs',
    text: (d) => d.delete({ table: 'jobs', as: 'j', where: d.inList('j.id', ':ids', 'id'), returning: ['id'] }),
  },
} satisfies Record<string, Statement>;

/** Deletes a terminal job with its history. See IJobStorage.delete. */
export function* deleteJob(id: JobId): Operation<boolean> {
  const [row] = yield* query(deleteStatements.lock, { id });
  if (!row) return false;
  yield* deleteLocked([id]);
  return true;
}

/** Deletes jobs whose rows are locked, with their attempts. */
export function* deleteLocked(ids: readonly JobId[]): Operation<void> {
  if (ids.length === 0) return;
  const values = { ids: JSON.stringify(ids) };
  yield* query(deleteStatements.attempts, values);
  yield* query(deleteStatements.jobs, values);
}
