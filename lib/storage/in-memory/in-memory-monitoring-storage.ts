import type { JobId } from '../../model/ids';
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
} from '../../model/monitoring';
import { IMonitoringStorage } from '../monitoring-storage';
import type { Database } from './database';
import { queryInstances, queryJobs, queryRecurring } from './monitoring';
import { statistics } from './statistics';
import { jobDetails } from './summaries';

/** The read model over memory. */
export class InMemoryMonitoringStorage extends IMonitoringStorage {
  constructor(private readonly db: Database) {
    super();
  }

  override getStatistics(tenantId?: TenantFilter): Promise<Statistics> {
    return this.db.run((tables, now) => statistics(tables, tenantId, now));
  }

  override queryJobs(query: JobQuery): Promise<Page<JobSummary>> {
    return this.db.run((tables) => queryJobs(tables, query));
  }

  override getJobDetails(id: JobId): Promise<JobDetails | null> {
    return this.db.run(({ jobs }) => {
      const job = jobs.get(id);
      return job ? jobDetails(job) : null;
    });
  }

  override queryInstances(query: InstanceQuery): Promise<Page<InstanceSummary>> {
    return this.db.run((tables) => queryInstances(tables, query));
  }

  override queryRecurring(query: RecurringQuery): Promise<Page<RecurringSummary>> {
    return this.db.run((tables) => queryRecurring(tables, query));
  }
}
