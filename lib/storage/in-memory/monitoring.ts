import { firstIdAt, parseId } from '../../model/ids';
import type {
  InstanceQuery,
  InstanceSummary,
  JobQuery,
  JobSummary,
  Page,
  RecurringQuery,
  RecurringSummary,
  TenantFilter,
} from '../../model/monitoring';
import { decodeCursor, InvalidCursorError } from '../../model/page-cursor';
import type { RecurringDefinition } from '../../model/recurring-definition';
import { pageOf } from './pages';
import { instanceSummary, jobSummary, recurringSummary } from './summaries';
import type { Tables } from './tables';

export function queryJobs({ jobs }: Tables, query: JobQuery): Page<JobSummary> {
  const { states = [], queue, handler, recurringId, tenantId } = query;
  const isListed = idRange(query);
  const matching = [];
  for (const { record: job } of jobs.all()) {
    if (!isListed(job.id) || !isOfTenant(job.tenantId, tenantId)) continue;
    if (states.length > 0 && !states.includes(job.state)) continue;
    if (queue !== undefined && job.queue !== queue) continue;
    if (handler !== undefined && job.handler !== handler) continue;
    if (recurringId !== undefined && job.recurringId !== recurringId) continue;
    matching.push(job);
  }
  return pageOf(matching, query, { compare: newestFirst, key: ({ id }) => [id], summary: jobSummary });
}

export function queryInstances({ instances }: Tables, query: InstanceQuery): Page<InstanceSummary> {
  const { states = [], definitionId, definitionVersion, tenantId } = query;
  const isListed = idRange(query);
  const matching = [];
  for (const { record: instance } of instances.all()) {
    if (!isListed(instance.id) || !isOfTenant(instance.tenantId, tenantId)) continue;
    if (states.length > 0 && !states.includes(instance.state)) continue;
    if (definitionId !== undefined) {
      if (instance.definitionId !== definitionId) continue;
      if (definitionVersion !== undefined && instance.definitionVersion !== definitionVersion) continue;
    }
    matching.push(instance);
  }
  return pageOf(matching, query, { compare: newestFirst, key: ({ id }) => [id], summary: instanceSummary });
}

export function queryRecurring({ jobs, recurring }: Tables, query: RecurringQuery): Page<RecurringSummary> {
  const after = query.cursor === null || query.cursor === undefined ? null : recurringKey(query.cursor);
  const matching = [];
  for (const definition of recurring.all()) {
    if (!isOfTenant(definition.tenantId, query.tenantId)) continue;
    if (query.queue !== undefined && definition.queue !== query.queue) continue;
    if (after && soonestFirst(definition, after) <= 0) continue;
    matching.push(definition);
  }
  return pageOf(matching, query, {
    compare: soonestFirst,
    key: ({ id, nextFireTime }) => [String(nextFireTime?.getTime() ?? PARKED), id],
    summary: (definition) => recurringSummary(definition, jobs.newestOccurrence(definition.id)),
  });
}

type RecurringKey = Pick<RecurringDefinition, 'id' | 'nextFireTime'>;

/** Stands for the time of a definition that has none, and sorts last. */
const PARKED = 'parked';

function recurringKey(cursor: string): RecurringKey {
  const [time = '', id = ''] = decodeCursor(cursor, 2);
  if (time === PARKED) return { id, nextFireTime: null };
  const nextFireTime = new Date(Number(time));
  if (!/^-?\d+$/.test(time) || Number.isNaN(nextFireTime.getTime())) throw new InvalidCursorError(cursor);
  return { id, nextFireTime };
}

/** Which ids a query lists: those after its cursor, of its time range (an id's time is that of its creation). */
function idRange(query: JobQuery | InstanceQuery): (id: string) => boolean {
  const { cursor, createdAfter, createdBefore } = query;
  const after = cursor === null || cursor === undefined ? null : idOf(cursor);
  const from = createdAfter ? firstIdAt(createdAfter) : null;
  const to = createdBefore ? firstIdAt(createdBefore) : null;
  return (id) => (after === null || id < after) && (from === null || id >= from) && (to === null || id < to);
}

function idOf(cursor: string): string {
  const [id = ''] = decodeCursor(cursor, 1);
  if (parseId(id) !== id) throw new InvalidCursorError(cursor);
  return id;
}

export function isOfTenant(tenantId: string | null, filter: TenantFilter): boolean {
  return filter === undefined || tenantId === filter;
}

function newestFirst(a: { readonly id: string }, b: { readonly id: string }): number {
  return compare(b.id, a.id);
}

function soonestFirst(a: RecurringKey, b: RecurringKey): number {
  const [first, second] = [a.nextFireTime?.getTime() ?? Infinity, b.nextFireTime?.getTime() ?? Infinity];
  return compare(first, second) || compare(a.id, b.id);
}

/** By number, or by code unit. */
function compare<T extends string | number>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
