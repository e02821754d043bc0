import {
  type InstanceQuery,
  type InstanceState,
  type InstanceSummary,
  type Page,
  pageSize,
} from '../../../lib/storage';
import { type Operation, query } from '../operation';
import { INSTANCE_SUMMARY_COLUMNS, instanceSummaryOf } from '../rows';
import type { Statement } from '../statement';
import { allOf, equals, inIdRange, inStates, ofTenant } from './filters';
import { pageOf } from './pages';

// Each implies the conditions of an index where there is one, in words that a planner compares.
const STATES: Readonly<Record<InstanceState, string>> = {
  Running: '(state in (0, 1) and state = 0)',
  Suspended: '(state in (0, 1) and state = 1)',
  Completed: 'state = 2',
  Failed: 'state = 3',
  Compensated: 'state = 4',
  Cancelled: 'state = 5',
};

/** See IMonitoringStorage.queryInstances. */
export function* queryInstances(request: InstanceQuery): Operation<Page<InstanceSummary>> {
  const { definitionId } = request;
  const { where, values } = allOf(
    inStates(request.states, STATES),
    equals('definition_id', definitionId),
    definitionId === undefined ? null : equals('definition_version', request.definitionVersion),
    ofTenant(request.tenantId),
    ...inIdRange(request),
  );
  const size = pageSize(request.limit);
  const rows = yield* query(instanceListStatement(where), { ...values, limit: size + 1 });
  return pageOf(rows, size, instanceSummaryOf, ({ id }) => [id]);
}

/** Made for each call: there are as many as there are combinations of filters. */
export function instanceListStatement(where: string): Statement {
  return {
    name: '',
    text: (d) =>
      d.select({
        columns: INSTANCE_SUMMARY_COLUMNS.join(', '),
        table: 'workflow_instances',
        where,
        orderBy: 'id desc',
        limit: ':limit',
      }),
  };
}
