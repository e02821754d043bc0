import { JobState } from '../../model/job-state';
import type { Statistics, TenantFilter } from '../../model/monitoring';
import { InstanceState } from '../../model/workflow-instance';
import { isOfTenant } from './monitoring';
import type { Tables } from './tables';

/** Counts what there is, of all tenants or of one. */
export function statistics(tables: Tables, tenant: TenantFilter, now: Date): Statistics {
  const jobsByState = zeroes(JobState);
  const instancesByState = zeroes(InstanceState);
  const enqueued = new Map<string, number>();
  for (const { record } of tables.jobs.all()) {
    if (!isOfTenant(record.tenantId, tenant)) continue;
    jobsByState[record.state]++;
    if (record.state === JobState.Enqueued) enqueued.set(record.queue, (enqueued.get(record.queue) ?? 0) + 1);
  }
  for (const { record } of tables.instances.all()) {
    if (isOfTenant(record.tenantId, tenant)) instancesByState[record.state]++;
  }
  const definitions = [...tables.recurring.all()].filter(({ tenantId }) => isOfTenant(tenantId, tenant));
  return {
    jobsByState,
    // A Map first: a queue may be called "__proto__".
    enqueuedByQueue: Object.fromEntries(enqueued),
    instancesByState,
    recurringDefinitions: definitions.length,
    overdueRecurringDefinitions: definitions.filter(({ nextFireTime }) => nextFireTime && nextFireTime <= now).length,
  };
}

function zeroes<S extends string>(states: Readonly<Record<S, S>>): Record<S, number> {
  return Object.fromEntries(Object.keys(states).map((state) => [state, 0])) as Record<S, number>;
}
