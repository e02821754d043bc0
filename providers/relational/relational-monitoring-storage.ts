import {
  type IClock,
  IMonitoringStorage,
  type InstanceQuery,
  type InstanceSummary,
  type JobDetails,
  type JobId,
  type JobQuery,
  type JobSummary,
  type Page,
  type RecurringQuery,
  type RecurringSummary,
  type Statistics,
  type TenantFilter,
} from '../../lib/storage';
import type { Database } from './database';
import { getJobDetails, getStatistics, queryInstances, queryJobs, queryRecurring } from './monitoring';

/** The read model over a relational database: reads alone, outside any transaction. */
export class RelationalMonitoringStorage extends IMonitoringStorage {
  constructor(
    private readonly database: () => Database,
    private readonly clock: IClock,
  ) {
    super();
  }

  override async getStatistics(tenantId?: TenantFilter): Promise<Statistics> {
    return this.database().read(() => getStatistics(tenantId, this.clock.now().getTime()));
  }

  override async queryJobs(query: JobQuery): Promise<Page<JobSummary>> {
    return this.database().read(() => queryJobs(query));
  }

  override async getJobDetails(id: JobId): Promise<JobDetails | null> {
    return this.database().read(() => getJobDetails(id));
  }

  override async queryInstances(query: InstanceQuery): Promise<Page<InstanceSummary>> {
    return this.database().read(() => queryInstances(query));
  }

  override async queryRecurring(query: RecurringQuery): Promise<Page<RecurringSummary>> {
    return this.database().read(() => queryRecurring(query));
  }
}
