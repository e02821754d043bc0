import type { JobRecord } from '../../model/job';
import type { RecurringDefinition } from '../../model/recurring-definition';
import { later, MINUTE } from '../../model/time';
import { RecurringTenantError } from '../storage.errors';
import { enqueue } from './enqueue';
import type { Tables } from './tables';

/** Creates or replaces a definition; its schedule goes on where it is unless the expression has changed. */
export function upsertRecurring({ recurring }: Tables, definition: RecurringDefinition): void {
  const stored = recurring.get(definition.id);
  if (stored === undefined) return recurring.put(definition);
  if (stored.tenantId !== definition.tenantId) throw new RecurringTenantError(definition.id);
  const { createdAt, lastFireTime } = stored;
  recurring.put({ ...definition, createdAt, lastFireTime, nextFireTime: nextFireTimeOf(stored, definition) });
}

function nextFireTimeOf(stored: RecurringDefinition, definition: RecurringDefinition): Date | null {
  const { lastFireTime } = stored;
  if (stored.cron === definition.cron && stored.nextFireTime) return stored.nextFireTime;
  if (!lastFireTime || !definition.nextFireTime || definition.nextFireTime > lastFireTime)
    return definition.nextFireTime;
  // Planned by a clock that was set back: what has fired never comes again.
  return stored.nextFireTime ?? later(lastFireTime, MINUTE);
}

/** Fires one occurrence, or drops it, if the definition still stands at it. */
export function tryFireRecurring(
  tables: Tables,
  id: string,
  expected: Date,
  next: Date | null,
  job: JobRecord | null,
  now: Date,
): boolean {
  const stored = tables.recurring.get(id);
  if (!stored || !isAt(stored, expected)) return false;
  tables.recurring.put({
    ...stored,
    nextFireTime: next,
    lastFireTime: job ? expected : stored.lastFireTime,
    parkedReason: next ? null : `"${stored.cron}" has no further occurrence.`,
    updatedAt: now,
  });
  if (job) enqueue(tables, [job], now);
  return true;
}

/** Takes a definition out of the schedule, if it still stands at this occurrence. */
export function parkRecurring({ recurring }: Tables, id: string, expected: Date, reason: string, now: Date): boolean {
  const stored = recurring.get(id);
  if (!stored || !isAt(stored, expected)) return false;
  recurring.put({ ...stored, nextFireTime: null, parkedReason: reason, updatedAt: now });
  return true;
}

function isAt({ nextFireTime }: RecurringDefinition, expected: Date): boolean {
  return nextFireTime?.getTime() === expected.getTime();
}
