import type { Probe, ProbeRequest } from '../job-storage';
import { hasExpiredBookmark } from './bookmarks';
import { isPrunable } from './retention';
import type { Tables } from './tables';

/** Whether anything needs doing; looks at the head of each index only. */
export function probe(tables: Tables, { queues, retention }: ProbeRequest, now: Date): Probe {
  const { jobs, recurring } = tables;
  const found = { expired: false, claimable: false, suspects: false };
  for (const name of new Set(queues)) {
    const queue = jobs.queue(name);
    if (queue === undefined || tables.queues.get(name) === true) continue;
    queue.findExpired(now);
    found.expired ||= queue.expired.size + queue.expiredSuspects.size > 0;
    found.claimable ||= queue.ready.size > 0;
    found.suspects ||= queue.readySuspects.size + queue.expiredSuspects.size > 0;
  }
  const due = jobs.due.peek();
  return {
    ...found,
    due: due !== undefined && due.at <= now.getTime(),
    recurringDue: recurring.dueAt(now, 1).length > 0,
    waitsExpired: hasExpiredBookmark(tables, now),
    prunable: isPrunable(tables, retention),
    pausedQueues: pausedQueues(tables),
    schemaTooNew: false,
    databaseTime: null,
  };
}

function pausedQueues({ queues }: Tables): string[] {
  return [...queues].filter(([, paused]) => paused).map(([name]) => name);
}
