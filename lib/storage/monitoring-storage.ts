import type { JobId } from '../model/ids';
import type {
  InstanceQuery,
  InstanceSummary,
  JobDetails,
  JobQuery,
  JobSummary,
  Page,
  RecurringQuery,
  RecurringSummary,
  Statistics,
  TenantFilter,
} from '../model/monitoring';

/**
 * The read model of the dashboard. Takes no lock that could delay a claim, and may be slightly stale.
 *
 * Lists walk by key: no row that stayed matching is repeated or skipped, whatever changes meanwhile. A cursor that no
 * page handed out is an {@link InvalidCursorError}.
 */
export abstract class IMonitoringStorage {
  abstract getStatistics(tenantId?: TenantFilter): Promise<Statistics>;

  /** Newest first, by id. */
  abstract queryJobs(query: JobQuery): Promise<Page<JobSummary>>;

  abstract getJobDetails(id: JobId): Promise<JobDetails | null>;

  /** Newest first, by id. */
  abstract queryInstances(query: InstanceQuery): Promise<Page<InstanceSummary>>;

  /** By next fire time, then id; parked definitions last. */
  abstract queryRecurring(query: RecurringQuery): Promise<Page<RecurringSummary>>;
}
