import {
  ATTEMPT_OUTCOME_CODES,
  type AttemptOutcome,
  ATTEMPTS_KEPT,
  type JobAttempt,
  type JobId,
} from '../../lib/storage';
import { type Operation, query } from './operation';
import { attemptOf } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

const COLUMNS = ['job_id', 'attempt', 'outcome', 'worker_id', 'error', 'recorded_at'] as const;

export const attemptStatements = {
  record: {
    name: 'record_attempts',
    text: (d) =>
      d.insert({
        table: 'job_attempts',
        columns: COLUMNS,
        select: `select ${COLUMNS.map((column) => `r.${column}`).join(', ')} from ${d.rowset(':attempts', typesOf('job_attempts', COLUMNS), 'r')} where 1 = 1`,
        returning: ['job_id'],
      }),
  },
  prune: {
    name: 'prune_attempts',
    text: (d) =>
      d.delete({
        table: 'job_attempts',
        as: 'a',
        where:
          `${d.inList('a.job_id', ':ids', 'id')} and a.attempt <= ` +
          `(select max(n.attempt) from ${d.table('job_attempts')} as n where n.job_id = a.job_id) - ${ATTEMPTS_KEPT}`,
        returning: ['job_id'],
      }),
  },
  ofJob: {
    name: 'attempts_of_job',
    text: (d) =>
      d.select({ columns: COLUMNS.join(', '), table: 'job_attempts', where: 'job_id = :id', orderBy: 'attempt desc' }),
  },
} satisfies Record<string, Statement>;

export interface AttemptRow {
  readonly job_id: unknown;
  readonly attempt: number;
  readonly outcome: AttemptOutcome;
  readonly worker_id: unknown;
  readonly error: string | null;
  readonly recorded_at: number;
}

/** Writes attempt rows, and removes those that have become too old. */
export function* recordAttempts(attempts: readonly AttemptRow[]): Operation<void> {
  if (attempts.length === 0) return;
  const rows = attempts.map((row) => ({ ...row, outcome: ATTEMPT_OUTCOME_CODES[row.outcome] }));
  yield* query(attemptStatements.record, { attempts: JSON.stringify(rows) });
  const old = attempts.filter((row) => row.attempt > ATTEMPTS_KEPT).map((row) => row.job_id);
  if (old.length > 0) yield* query(attemptStatements.prune, { ids: JSON.stringify(old) });
}

/** Newest first. */
export function* attemptsOf(id: JobId): Operation<JobAttempt[]> {
  return (yield* query(attemptStatements.ofJob, { id })).map(attemptOf);
}
