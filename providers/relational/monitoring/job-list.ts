import { type JobQuery, type JobState, type JobSummary, type Page, pageSize } from '../../../lib/storage';
import { type Operation, query } from '../operation';
import { JOB_SUMMARY_COLUMNS, jobSummaryOf } from '../rows';
import type { Statement } from '../statement';
import { allOf, equals, inIdRange, inStates, ofTenant } from './filters';
import { pageOf } from './pages';

// Each implies the conditions of an index where there is one, in words that a planner compares.
const STATES: Readonly<Record<JobState, string>> = {
  Scheduled: '(state in (0, 4) and state = 0)',
  Enqueued: '(state = 1 and interruptions < 2) or (state = 1 and interruptions >= 2)',
  Processing: 'state = 2 and lease_until > 0',
  Succeeded: 'state = 3',
  Failed: 'state = 4',
  Dead: 'state = 5',
  Cancelled: 'state = 6',
  Awaiting: 'state = 7',
};

/** See IMonitoringStorage.queryJobs. */
export function* queryJobs(request: JobQuery): Operation<Page<JobSummary>> {
  const { where, values } = allOf(
    inStates(request.states, STATES),
    equals('queue', request.queue),
    equals('handler', request.handler),
    equals('recurring_id', request.recurringId),
    ofTenant(request.tenantId),
    ...inIdRange(request),
  );
  const size = pageSize(request.limit);
  const rows = yield* query(jobListStatement(where), { ...values, limit: size + 1 });
  return pageOf(rows, size, jobSummaryOf, ({ id }) => [id]);
}

/** Made for each call: there are as many as there are combinations of filters. */
export function jobListStatement(where: string): Statement {
  return {
    name: '',
    text: (d) =>
      d.select({ columns: JOB_SUMMARY_COLUMNS.join(', '), table: 'jobs', where, orderBy: 'id desc', limit: ':limit' }),
  };
}
