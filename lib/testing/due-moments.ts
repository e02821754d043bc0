import { JobState } from '../model/job-state';
import { MAX_PAGE_SIZE } from '../model/monitoring';
import { InstanceState } from '../model/workflow-instance';
import type { IMonitoringStorage } from '../storage/monitoring-storage';
import type { IWorkflowStorage } from '../storage/workflow-storage';

/** The first instant after `now` at which time makes something due; null when nothing waits for time. */
export async function nextDueMoment(
  monitoring: IMonitoringStorage,
  workflows: IWorkflowStorage,
  now: Date,
): Promise<Date | null> {
  let first: Date | null = null;
  const moments = [fireTimes(monitoring), dueTimes(monitoring), expiryTimes(monitoring, workflows)];
  for (const moment of (await Promise.all(moments)).flat()) {
    // What is due by now and was left so cannot be moved: a host that waited for it would wait for ever.
    if (moment !== null && moment > now && (first === null || moment < first)) first = moment;
  }
  return first;
}

async function fireTimes(monitoring: IMonitoringStorage): Promise<(Date | null)[]> {
  const { items } = await monitoring.queryRecurring({ limit: MAX_PAGE_SIZE });
  return items.map(({ nextFireTime }) => nextFireTime);
}

async function dueTimes(monitoring: IMonitoringStorage): Promise<(Date | null)[]> {
  const times: (Date | null)[] = [];
  let cursor: string | null = null;
  do {
    const page = await monitoring.queryJobs({
      states: [JobState.Scheduled, JobState.Failed],
      limit: MAX_PAGE_SIZE,
      cursor,
    });
    times.push(...page.items.map(({ dueAt }) => dueAt));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return times;
}

async function expiryTimes(monitoring: IMonitoringStorage, workflows: IWorkflowStorage): Promise<(Date | null)[]> {
  const times: (Date | null)[] = [];
  let cursor: string | null = null;
  do {
    const page = await monitoring.queryInstances({
      states: [InstanceState.Running, InstanceState.Suspended],
      limit: MAX_PAGE_SIZE,
      cursor,
    });
    const waits = await Promise.all(page.items.map(({ id }) => workflows.getBookmarks(id)));
    times.push(...waits.flat().map(({ expiresAt }) => expiresAt));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return times;
}
