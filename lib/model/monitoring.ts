import type { JobId } from './ids';
import type { JobRecord } from './job';
import type { JobAttempt } from './job-attempt';
import type { JobState } from './job-state';
import type { RecurringDefinition } from './recurring-definition';
import type { InstanceState, WorkflowInstance } from './workflow-instance';

export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 200;

/** Clamps a page size: below 1 is 50, above 200 is 200. */
export function pageSize(limit: number | undefined): number {
  return limit === undefined || limit < 1 ? DEFAULT_PAGE_SIZE : Math.min(Math.trunc(limit), MAX_PAGE_SIZE);
}

/** One page of a list. A page may be short; a cursor does not promise that more rows follow. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/** Which tenants a query sees: all (undefined), only jobs without tenant (null), or one. */
export type TenantFilter = string | null | undefined;

export interface PageRequest {
  readonly cursor?: string | null;
  /** Below 1 is 50, above 200 is 200. Default 50. */
  readonly limit?: number;
}

/** Filters of the job list, combined with AND. Newest first. */
export interface JobQuery extends PageRequest {
  /** Any of these; none or empty is every state. */
  readonly states?: readonly JobState[];
  readonly queue?: string;
  readonly handler?: string;
  readonly recurringId?: string;
  readonly tenantId?: TenantFilter;
  /** Inclusive. */
  readonly createdAfter?: Date;
  /** Exclusive. */
  readonly createdBefore?: Date;
}

/** Filters of the instance list, combined with AND. Newest first. */
export interface InstanceQuery extends PageRequest {
  readonly states?: readonly InstanceState[];
  readonly definitionId?: string;
  /** Ignored unless `definitionId` is given. */
  readonly definitionVersion?: number;
  readonly tenantId?: TenantFilter;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
}

/** Filters of the list of recurring definitions. Soonest first; parked ones come last. */
export interface RecurringQuery extends PageRequest {
  readonly queue?: string;
  readonly tenantId?: TenantFilter;
}

/** A job in a list: no arguments. */
export type JobSummary = Pick<
  JobRecord,
  | 'id'
  | 'queue'
  | 'state'
  | 'handler'
  | 'priority'
  | 'createdAt'
  | 'dueAt'
  | 'finishedAt'
  | 'attempt'
  | 'failures'
  | 'releases'
  | 'interruptions'
  | 'tenantId'
  | 'workerId'
>;

/** A job with everything stored of it. */
export interface JobDetails extends JobRecord {
  /** Newest first; empty when nothing went wrong. */
  readonly attempts: readonly JobAttempt[];
}

/** An instance in a list: no document, no cursor. */
export type InstanceSummary = Pick<
  WorkflowInstance,
  'id' | 'definitionId' | 'definitionVersion' | 'state' | 'tenantId' | 'createdAt' | 'updatedAt' | 'revision'
>;

/** A recurring definition in a list, with the job it produced last. */
export interface RecurringSummary extends Pick<
  RecurringDefinition,
  | 'id'
  | 'cron'
  | 'queue'
  | 'handler'
  | 'priority'
  | 'tenantId'
  | 'nextFireTime'
  | 'lastFireTime'
  | 'parkedReason'
  | 'createdAt'
  | 'updatedAt'
> {
  /** State of the newest job that carries this id; null when there is none. */
  readonly lastOutcome: JobState | null;
  readonly lastJobId: JobId | null;
}

/** Counts of everything; every state is present, with 0 where there is none. */
export interface Statistics {
  readonly jobsByState: Readonly<Record<JobState, number>>;
  /** Enqueued jobs; a queue without any may be absent. */
  readonly enqueuedByQueue: Readonly<Record<string, number>>;
  readonly instancesByState: Readonly<Record<InstanceState, number>>;
  readonly recurringDefinitions: number;
  /** Those whose next fire time has come or passed. */
  readonly overdueRecurringDefinitions: number;
}
