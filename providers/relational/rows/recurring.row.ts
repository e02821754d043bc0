import {
  jobStateOf,
  MISFIRE_CODES,
  MISFIRE_POLICIES,
  type RecurringDefinition,
  type RecurringSummary,
  RETRY_KIND_CODES,
} from '../../../lib/storage';
import type { Row } from '../operation';
import { retryOf } from './retry.row';
import { epoch, instant, number, optionalEpoch, optionalInstant, optionalNumber, optionalText, text } from './values';

export const RECURRING_COLUMNS = [
  'id',
  'cron',
  'queue',
  'priority',
  'handler',
  'args',
  'arg_types',
  'retry_kind',
  'retry_max_attempts',
  'retry_base_delay',
  'retry_max_delay',
  'timeout_ms',
  'misfire',
  'tenant_id',
  'next_fire_time',
  'last_fire_time',
  'parked_reason',
  'created_at',
  'updated_at',
] as const;

export function recurringOf(row: Row): RecurringDefinition {
  const misfire = MISFIRE_POLICIES[number(row['misfire'])];
  if (misfire === undefined) throw new RangeError(`${String(row['misfire'])} is not the number of a misfire policy`);
  return {
    id: text(row['id']),
    cron: text(row['cron']),
    queue: text(row['queue']),
    priority: number(row['priority']),
    handler: text(row['handler']),
    args: text(row['args']),
    argTypes: optionalText(row['arg_types']),
    retry: retryOf(row),
    timeout: optionalNumber(row['timeout_ms']),
    misfire,
    tenantId: optionalText(row['tenant_id']),
    nextFireTime: optionalInstant(row['next_fire_time']),
    lastFireTime: optionalInstant(row['last_fire_time']),
    parkedReason: optionalText(row['parked_reason']),
    createdAt: instant(row['created_at']),
    updatedAt: instant(row['updated_at']),
  };
}

export function recurringToRow(definition: RecurringDefinition) {
  return {
    id: definition.id,
    cron: definition.cron,
    queue: definition.queue,
    priority: definition.priority,
    handler: definition.handler,
    args: definition.args,
    arg_types: definition.argTypes,
    retry_kind: RETRY_KIND_CODES[definition.retry.kind],
    retry_max_attempts: definition.retry.maxAttempts,
    retry_base_delay: definition.retry.baseDelay,
    retry_max_delay: definition.retry.maxDelay,
    timeout_ms: definition.timeout,
    misfire: MISFIRE_CODES[definition.misfire],
    tenant_id: definition.tenantId,
    next_fire_time: optionalEpoch(definition.nextFireTime),
    last_fire_time: optionalEpoch(definition.lastFireTime),
    parked_reason: definition.parkedReason,
    created_at: epoch(definition.createdAt),
    updated_at: epoch(definition.updatedAt),
  } as const;
}

export const RECURRING_SUMMARY_COLUMNS = [
  'id',
  'cron',
  'queue',
  'handler',
  'priority',
  'tenant_id',
  'next_fire_time',
  'last_fire_time',
  'parked_reason',
  'created_at',
  'updated_at',
] as const;

/** A row of {@link RECURRING_SUMMARY_COLUMNS} with `last_job_id` and `last_state` of the newest job. */
export function recurringSummaryOf(row: Row): RecurringSummary {
  const lastState = optionalNumber(row['last_state']);
  return {
    id: text(row['id']),
    cron: text(row['cron']),
    queue: text(row['queue']),
    handler: text(row['handler']),
    priority: number(row['priority']),
    tenantId: optionalText(row['tenant_id']),
    nextFireTime: optionalInstant(row['next_fire_time']),
    lastFireTime: optionalInstant(row['last_fire_time']),
    parkedReason: optionalText(row['parked_reason']),
    createdAt: instant(row['created_at']),
    updatedAt: instant(row['updated_at']),
    lastOutcome: lastState === null ? null : jobStateOf(lastState),
    lastJobId: optionalText(row['last_job_id']),
  };
}
