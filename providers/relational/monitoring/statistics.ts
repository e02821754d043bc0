import { INSTANCE_STATES, JOB_STATES, jobStateOf, type Statistics, type TenantFilter } from '../../../lib/storage';
import { type Operation, query, type Row } from '../operation';
import { instanceStateOf } from '../rows';
import type { Statement } from '../statement';
import { allOf, ofTenant } from './filters';

/** See IMonitoringStorage.getStatistics. */
export function* getStatistics(tenantId: TenantFilter, now: number): Operation<Statistics> {
  const { where, values } = allOf(ofTenant(tenantId));
  const statements = statisticsStatements(where);
  const jobs = yield* query(statements.jobs, values);
  const queues = yield* query(statements.queues, values);
  const instances = yield* query(statements.instances, values);
  const [definitions] = yield* query(statements.definitions, { ...values, now });
  return {
    jobsByState: counted(JOB_STATES, jobs, (row) => jobStateOf(Number(row['state']))),
    // From a list of entries: a queue may be called "__proto__".
    enqueuedByQueue: Object.fromEntries(queues.map((row) => [String(row['queue']), Number(row['n'])])),
    instancesByState: counted(INSTANCE_STATES, instances, (row) => instanceStateOf(row['state'])),
    recurringDefinitions: Number(definitions?.['n'] ?? 0),
    overdueRecurringDefinitions: Number(definitions?.['overdue'] ?? 0),
  };
}

/** Made for each call: there are as many as there are kinds of tenant filters. */
export function statisticsStatements(where: string) {
  return {
    jobs: {
      name: '',
      text: (d) => `select state, count(*) as n from ${d.table('jobs')} where ${where} group by state`,
    },
    queues: {
      name: '',
      text: (d) => {
        const enqueued = (interruptions: string) =>
          d.select({
            columns: 'queue',
            table: 'jobs',
            where: `state = 1 and interruptions ${interruptions} and ${where}`,
          });
        // In two parts, each of which is an index.
        return `select queue, count(*) as n from (${enqueued('< 2')} union all ${enqueued('>= 2')}) as enqueued group by queue`;
      },
    },
    instances: {
      name: '',
      text: (d) => `select state, count(*) as n from ${d.table('workflow_instances')} where ${where} group by state`,
    },
    definitions: {
      name: '',
      text: (d) =>
        'select count(*) as n, sum(case when next_fire_time <= :now then 1 else 0 end) as overdue ' +
        `from ${d.table('recurring_definitions')} where ${where}`,
    },
  } satisfies Record<string, Statement>;
}

function counted<S extends string>(
  states: readonly S[],
  rows: readonly Row[],
  stateOf: (row: Row) => S,
): Record<S, number> {
  const counts = Object.fromEntries(states.map((state) => [state, 0])) as Record<S, number>;
  for (const row of rows) counts[stateOf(row)] = Number(row['n']);
  return counts;
}
