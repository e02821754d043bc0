import type { JobId } from '../../lib/storage';
import { type Operation, query, signalReady } from './operation';
import type { Statement } from './statement';

export const runNowStatements = {
  runNow: {
    name: 'run_now',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set: 'state = 1, due_at = null, ready_at = :now',
        where: 'j.id = :id and j.state = 4',
        returning: ['id', 'queue'],
      }),
  },
} satisfies Record<string, Statement>;

/** Ends the wait of a Failed job for its next attempt. See IJobStorage.runNow. */
export function* runNow(id: JobId, now: number): Operation<boolean> {
  const rows = yield* query(runNowStatements.runNow, { id, now });
  yield* signalReady(rows.map((row) => String(row['queue'])));
  return rows.length > 0;
}
