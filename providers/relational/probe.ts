import { DAY, type Probe, type ProbeRequest } from '../../lib/storage';
import { claimStatements, notPaused } from './claim';
import type { Dialect } from './dialect';
import { type Operation, query, type Row } from './operation';
import { pausedQueues } from './queues';
import { isPrunableInstance, isPrunableJob, RETAINED_INSTANCES, RETAINED_JOBS } from './retention';
import { optionalEpoch } from './rows';
import { isTooNew } from './schema/migrator';
import type { TableName } from './schema/tables';
import type { Statement } from './statement';

/**
 * A column that is 1 where one of these selects gives a value. SQL Server knows no boolean values, and `exists` would drop
 * the order by which a planner finds the head of an index.
 */
const anyOf = (name: string, ...selects: readonly string[]) =>
  `case when ${selects.map((select) => `(${select}) is not null`).join(' or ')} then 1 else 0 end as ${name}`;

interface Head {
  readonly table: TableName;
  readonly as?: string;
  readonly where: string;
  /** An index of the table begins with it, where this table can be large. */
  readonly first: string;
}

const head = (d: Dialect, { first, ...parts }: Head) =>
  d.select({ ...parts, columns: first, orderBy: first, limit: '1' });

const inQueues = (d: Dialect) => `${d.inList('j.queue', ':queues', 'text(128)')} and ${notPaused(d, 'j.queue')}`;

const headOfJobs = (d: Dialect, first: string, where: string) => head(d, { table: 'jobs', as: 'j', first, where });

const suspects = (d: Dialect) => [
  headOfJobs(d, 'j.queue', `j.state = 1 and j.interruptions >= 2 and ${inQueues(d)}`),
  // The claim that takes it over counts one more interruption.
  headOfJobs(d, 'j.lease_until', `j.state = 2 and j.lease_until <= :now and j.interruptions >= 1 and ${inQueues(d)}`),
];

const prunable = (d: Dialect) => [
  ...RETAINED_JOBS.map(({ state, cutoff }) => headOfJobs(d, 'j.finished_at', isPrunableJob(d, state, `:${cutoff}`))),
  ...RETAINED_INSTANCES.map(({ state, cutoff }) =>
    head(d, {
      table: 'workflow_instances',
      as: 'i',
      first: 'i.finished_at',
      where: isPrunableInstance(d, state, `:${cutoff}`),
    }),
  ),
  head(d, { table: 'nodes', first: 'heartbeat_at', where: 'heartbeat_at < :staleBefore' }),
];

const columns = (d: Dialect): string[] => [
  anyOf('due', headOfJobs(d, 'j.due_at', 'j.state in (0, 4) and j.due_at <= :now')),
  anyOf('expired', headOfJobs(d, 'j.lease_until', `j.state = 2 and j.lease_until <= :now and ${inQueues(d)}`)),
  anyOf('claimable', claimStatements.hasClaimable.text(d)),
  anyOf('suspects', ...suspects(d)),
  anyOf(
    'recurring_due',
    head(d, { table: 'recurring_definitions', first: 'next_fire_time', where: 'next_fire_time <= :now' }),
  ),
  anyOf(
    'waits_expired',
    head(d, { table: 'bookmarks', first: 'expires_at', where: 'expires_at is not null and expires_at <= :now' }),
  ),
  anyOf('prunable', ...prunable(d)),
  anyOf('paused', head(d, { table: 'queues', first: 'name', where: 'paused = 1' })),
  `(select min_code_version from ${d.table('ledger')} where id = 1) as min_code_version`,
  ...(d.serverTime === null ? [] : [`${d.serverTime} as server_time`]),
];

export const probeStatements = {
  probe: { name: 'probe', text: (d) => `select ${columns(d).join(', ')}` },
} satisfies Record<string, Statement>;

/** Looks at the head of each index. One statement, and a second one while some queue is paused. See IJobStorage.probe. */
export function* probe({ queues, retention }: ProbeRequest, now: number): Operation<Probe> {
  const [row = {}] = yield* query(probeStatements.probe, {
    queues: JSON.stringify(queues),
    now,
    staleBefore: now - DAY,
    succeeded: optionalEpoch(retention.succeeded),
    cancelled: optionalEpoch(retention.cancelled),
    dead: optionalEpoch(retention.dead),
    completedInstances: optionalEpoch(retention.completedInstances),
    failedInstances: optionalEpoch(retention.failedInstances),
  });
  return {
    due: says(row, 'due'),
    expired: says(row, 'expired'),
    claimable: says(row, 'claimable'),
    suspects: says(row, 'suspects'),
    recurringDue: says(row, 'recurring_due'),
    waitsExpired: says(row, 'waits_expired'),
    prunable: says(row, 'prunable'),
    pausedQueues: says(row, 'paused') ? yield* pausedQueues() : [],
    schemaTooNew: isTooNew({ minCodeVersion: Number(row['min_code_version']) }),
    databaseTime: row['server_time'] == null ? null : new Date(Number(row['server_time'])),
  };
}

function says(row: Row, column: string): boolean {
  return Number(row[column]) === 1;
}
