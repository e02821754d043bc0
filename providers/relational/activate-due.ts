import { type Operation, query, signalReady } from './operation';
import type { Statement } from './statement';

const DUE = 'state in (0, 4) and due_at <= :now';

export const activateDueStatements = {
  activate: {
    name: 'activate_due',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set:
          'state = 1, due_at = null, ' +
          'ready_at = case when j.due_at > j.created_at then j.due_at else j.created_at end',
        // By id; `+ 0` keeps planners from walking the partial index once more for each of them.
        where: `j.state + 0 in (0, 4) and ${d.inSelect(
          'j.id',
          d.select({
            columns: 'id',
            table: 'jobs',
            where: DUE,
            orderBy: 'due_at, id',
            limit: ':limit',
            lock: 'skip',
          }),
        )}`,
        returning: ['id', 'queue'],
      }),
  },
} satisfies Record<string, Statement>;

/** Makes jobs claimable whose due time has come. One statement. See IJobStorage.activateDue. */
export function* activateDue(limit: number, now: number): Operation<number> {
  if (limit <= 0) return 0;
  const rows = yield* query(activateDueStatements.activate, { limit, now });
  yield* signalReady(rows.map((row) => String(row['queue'])));
  return rows.length;
}
