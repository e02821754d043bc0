import { checkedInterval, refuseUnknownNames, unexpected } from '../model/checks';
import { checkedName } from '../model/names';
import { checkedRetry, type RetryPolicy } from '../model/retry';
import type { Duration } from '../model/time';
import type { MisfirePolicy } from '../model/recurring-definition';
import { MISFIRE_POLICIES } from '../model/recurring-definition';
import type { TransactionHandle } from '../storage/transaction-handle';
import type { JobDefaults } from './handler-metadata';

/** Options of a job that is added to a running one or to a batch. Each wins over what `@Job` and `@JobTarget` say. */
export interface FollowUpOptions {
  /** Which queue to write to. Default `default`. */
  queue?: string;
  /** Higher is claimed first, across all queues of a node; equal ones run in order. Default 0. */
  priority?: number;
  /** Default: the node's `defaultRetry`. Stored with the job. */
  retry?: RetryPolicy;
  /** Longest time one execution may take: then its signal aborts, and it has failed. Default: none. */
  timeout?: Duration;
  /**
   * At most one active job per key and tenant: while one holds it, nothing is stored and its id is answered. Released
   * when that job has succeeded, died or been cancelled.
   */
  idempotencyKey?: string;
}

/** A call that can join a transaction of the application. */
export interface TransactionOptions {
  /**
   * The application's open transaction on the same database (a TypeORM EntityManager or QueryRunner): the job exists if
   * and only if it commits. Default: what `ambientTransaction` answers, else a transaction of its own.
   */
  transaction?: TransactionHandle;
}

export interface EnqueueOptions extends FollowUpOptions, TransactionOptions {}

export interface RecurringOptions extends Omit<FollowUpOptions, 'idempotencyKey'>, TransactionOptions {
  /** What becomes of an occurrence that is more than 60 s late: `fireOnce` (default) or `skip`. */
  misfire?: MisfirePolicy;
}

export interface CheckedFollowUp extends JobDefaults {
  readonly idempotencyKey: string | null;
}

const FOLLOW_UP = ['queue', 'priority', 'retry', 'timeout', 'idempotencyKey'];
const FOLLOW_UP_NAMES: ReadonlySet<string> = new Set(FOLLOW_UP);
const ENQUEUE_NAMES: ReadonlySet<string> = new Set([...FOLLOW_UP, 'transaction']);
const RECURRING_NAMES: ReadonlySet<string> = new Set([...FOLLOW_UP, 'transaction', 'misfire']);
const TRANSACTION_NAMES: ReadonlySet<string> = new Set(['transaction']);
const MAX_PRIORITY = 2 ** 31 - 1;
const NONE: CheckedFollowUp = Object.freeze({
  queue: undefined,
  priority: undefined,
  retry: undefined,
  timeout: undefined,
  idempotencyKey: null,
});

export function checkedFollowUpOptions(options: FollowUpOptions | undefined): CheckedFollowUp {
  return options === undefined ? NONE : checked(options, FOLLOW_UP_NAMES);
}

export function checkedEnqueueOptions(options: EnqueueOptions | undefined): CheckedFollowUp {
  return options === undefined ? NONE : checked(options, ENQUEUE_NAMES);
}

/** Refuses an idempotency key: an occurrence is told from the others by its planned instant. */
export function checkedRecurringOptions(options: RecurringOptions): CheckedFollowUp & { misfire: MisfirePolicy } {
  const result = checked(options, RECURRING_NAMES);
  if (result.idempotencyKey !== null) {
    throw unexpected('idempotencyKey', 'absent, since recurring jobs do not support it', result.idempotencyKey);
  }
  const misfire = options.misfire ?? 'fireOnce';
  if (!MISFIRE_POLICIES.includes(misfire)) {
    throw unexpected('misfire', `one of ${MISFIRE_POLICIES.join(', ')}`, misfire);
  }
  return { ...result, misfire };
}

export function checkedTransactionOptions(options: TransactionOptions | undefined, owner: string): void {
  if (options !== undefined) refuseUnknownNames(objectOf(options), TRANSACTION_NAMES, owner);
}

/** The part of the options that decorators take, too. */
export function checkedDefaults(
  options: Pick<FollowUpOptions, 'queue' | 'priority' | 'retry' | 'timeout'>,
  owner = '',
): JobDefaults {
  const { queue, priority, retry, timeout } = options;
  const named = (option: string): string => (owner === '' ? option : `${option} in ${owner}`);
  return {
    queue: queue === undefined ? undefined : checkedName(queue, 'queue'),
    priority: priority === undefined ? undefined : checkedPriority(priority, named('priority')),
    retry: retry === undefined ? undefined : retryOf(retry, named('retry')),
    timeout: timeout === undefined ? undefined : checkedInterval(timeout, named('timeout')),
  };
}

function checked(options: FollowUpOptions, names: ReadonlySet<string>): CheckedFollowUp {
  refuseUnknownNames(objectOf(options), names, 'this call');
  const key = options.idempotencyKey;
  return {
    ...checkedDefaults(options),
    idempotencyKey: key === undefined ? null : checkedName(key, 'idempotency key'),
  };
}

function objectOf(options: object): object {
  if (typeof options !== 'object' || options === null) throw unexpected('the options', 'an object', options);
  return options;
}

function checkedPriority(priority: number, name: string): number {
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY) {
    throw unexpected(name, `a whole number from ${-MAX_PRIORITY} to ${MAX_PRIORITY}`, priority);
  }
  return priority;
}

function retryOf(policy: RetryPolicy, name: string): RetryPolicy {
  if (typeof policy !== 'object' || policy === null) {
    throw unexpected(name, 'a policy such as Retry.exponential(5)', policy);
  }
  return checkedRetry(policy, name);
}
