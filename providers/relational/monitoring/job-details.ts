import type { JobDetails, JobId } from '../../../lib/storage';
import { attemptsOf } from '../attempts';
import { getJob } from '../get-job';
import type { Operation } from '../operation';

/** See IMonitoringStorage.getJobDetails. */
export function* getJobDetails(id: JobId): Operation<JobDetails | null> {
  const job = yield* getJob(id);
  return job && { ...job, attempts: yield* attemptsOf(id) };
}
