import type { InstanceId, WorkflowInstance } from '../../lib/storage';
import { type Operation, query } from './operation';
import { INSTANCE_COLUMNS, instanceOf } from './rows';
import type { Statement } from './statement';

const COLUMNS = INSTANCE_COLUMNS.join(', ');

export const getInstanceStatements = {
  one: {
    name: 'get_instance',
    text: (d) => d.select({ columns: COLUMNS, table: 'workflow_instances', where: 'id = :id' }),
  },
  several: {
    name: 'get_instances',
    text: (d) => d.select({ columns: COLUMNS, table: 'workflow_instances', where: d.inList('id', ':ids', 'id') }),
  },
} satisfies Record<string, Statement>;

/** See IWorkflowStorage.getInstance. */
export function* getInstance(id: InstanceId): Operation<WorkflowInstance | null> {
  const [row] = yield* query(getInstanceStatements.one, { id });
  return row ? instanceOf(row) : null;
}

/** In any order. See IWorkflowStorage.getInstances. */
export function* getInstances(ids: readonly InstanceId[]): Operation<WorkflowInstance[]> {
  if (ids.length === 0) return [];
  return (yield* query(getInstanceStatements.several, { ids: JSON.stringify(ids) })).map(instanceOf);
}
