import type { JobId, JobRecord } from '../../lib/storage';
import { type Operation, query } from './operation';
import { JOB_COLUMNS, jobOf } from './rows';
import type { Statement } from './statement';
import { givesRows } from './upsert';

export const getJobStatements = {
  get: {
    name: 'get_job',
    text: (d) => d.select({ columns: JOB_COLUMNS.join(', '), table: 'jobs', where: 'id = :id' }),
  },
  exists: {
    name: 'job_exists',
    text: (d) => d.select({ columns: 'id', table: 'jobs', where: 'id = :id' }),
  },
} satisfies Record<string, Statement>;

/** See IJobStorage.getJob. */
export function* getJob(id: JobId): Operation<JobRecord | null> {
  const [row] = yield* query(getJobStatements.get, { id });
  return row ? jobOf(row) : null;
}

/** Whether a job of this id is there: after a lost answer, whether what minted it took place. */
export function* isStored(id: JobId): Operation<boolean> {
  return yield* givesRows(getJobStatements.exists, { id });
}
