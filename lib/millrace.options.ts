import {
  checkedCount,
  checkedDuration,
  checkedFlag,
  checkedInterval,
  checkedTimeout,
  refuseUnknownNames,
  unexpected,
} from './model/checks';
import { checkedName } from './model/names';
import { checkedRetry, Retry, type RetryPolicy } from './model/retry';
import { DAY, type Duration, IClock, type Milliseconds, MINUTE, SECOND, SystemClock } from './model/time';
import type { StorageRegistration } from './storage/storage';
import type { TransactionHandle } from './storage/transaction-handle';
import { AsyncLocalTenantContext, ITenantContext } from './tenancy/tenant-context';

/** The token of the {@link ResolvedMillraceOptions}. */
export const MILLRACE_OPTIONS = Symbol('MILLRACE_OPTIONS');

/** How long what has finished is kept; `false` is for ever. */
export interface RetentionOptions {
  /** Default 7 days. */
  succeeded?: Duration | false;
  /** Default 7 days. */
  cancelled?: Duration | false;
  /** Default `false`: dead jobs stay until somebody requeues or deletes them. */
  dead?: Duration | false;
  /** Completed, compensated and cancelled workflow instances, with their jobs. Default 30 days. */
  completedInstances?: Duration | false;
  /** Default `false`. */
  failedInstances?: Duration | false;
}

/** Options of `MillraceModule.forRoot`. Durations are milliseconds or strings of the `ms` package: '30s', '2h', '7d'. */
export interface MillraceOptions {
  /** Where jobs live, for example `sqliteStorage({ database: 'millrace.db' })`. */
  storage: StorageRegistration;
  /** Queues that this node claims from: one pool, without precedence. Default `['default']`. */
  queues?: readonly string[];
  /** Executions at the same time. Default 20. */
  maxParallelism?: number;
  /** Jobs that are claimed and not finished, at most. Default 500. */
  claimBatchSize?: number;
  /** Due jobs that are activated, and recurring definitions that are fired, per round trip. Default 1000. */
  activationBatchSize?: number;
  /** How long a claim holds without renewal; longer than `heartbeatInterval`. Default 5 minutes. */
  leaseDuration?: Duration;
  /** How often claims are renewed and the node reports itself. Default 15 s. */
  heartbeatInterval?: Duration;
  /** How often the store is asked whether anything needs doing. Default 1 s. */
  schedulerInterval?: Duration;
  /** Without pushed wake-ups: the first wait after work, doubling up to `maxPollDelay`. Default 200 ms. */
  minPollDelay?: Duration;
  /** The longest wait between two looks for work. Default 5 s. */
  maxPollDelay?: Duration;
  /** Shutdown: how long running jobs may finish before their signals abort. Default 15 s. */
  shutdownTimeout?: Duration;
  /** Shutdown: how long aborted jobs may wind up before they are given back. Default 2 s. */
  shutdownGrace?: Duration;
  /** Executions of one job that may vanish with their process before it is dead-lettered unexecuted. Default 10. */
  interruptionLimit?: number;
  /** Run jobs on this node. Default true. */
  workerEnabled?: boolean;
  /** Move time-driven work forward on this node; any number of nodes may. Default true. */
  schedulerEnabled?: boolean;
  /** For jobs that name no retry of their own. Default `Retry.exponential(5)`. */
  defaultRetry?: RetryPolicy;
  /** Queue of all workflow jobs; every node must agree, and one must claim from it. Default `default`. */
  workflowQueue?: string;
  retention?: RetentionOptions;
  /** Largest payload (arguments, document or signal), as bytes of JSON; at most 8 MiB. Default 1 MiB. */
  maxPayloadBytes?: number;
  /** How long a call waits for a key, a parent or a wait that somebody's transaction holds. Default 5 s. */
  lockTimeout?: Duration;
  /** How long the start keeps trying to reach the store. Default 30 s. */
  startupTimeout?: Duration;
  /** Workflow versions, as `'onboarding@1'`, whose graph may change with instances in flight. Default none. */
  acceptChangedShapes?: readonly string[];
  /** Enhancers that run around a handler: those on the method, or global ones (`APP_*`) as well. Default `method`. */
  enhancers?: 'method' | 'all';
  /** Default: the system's clock. */
  clock?: IClock;
  /** Default: AsyncLocalStorage. */
  tenants?: ITenantContext;
  /** Asked by every call that is given no `transaction`; what it returns is joined. Default: none. */
  ambientTransaction?: () => TransactionHandle | undefined;
}

/** One layer of options; later layers win key by key. */
export type MillraceOptionsLayer = Partial<MillraceOptions>;

export interface ResolvedRetention {
  readonly succeeded: Milliseconds | false;
  readonly cancelled: Milliseconds | false;
  readonly dead: Milliseconds | false;
  readonly completedInstances: Milliseconds | false;
  readonly failedInstances: Milliseconds | false;
}

/** The options in force: complete and checked, durations in milliseconds. Inject it by {@link MILLRACE_OPTIONS}. */
export interface ResolvedMillraceOptions {
  readonly storage: StorageRegistration;
  readonly queues: readonly string[];
  readonly maxParallelism: number;
  readonly claimBatchSize: number;
  readonly activationBatchSize: number;
  readonly leaseDuration: Milliseconds;
  readonly heartbeatInterval: Milliseconds;
  readonly schedulerInterval: Milliseconds;
  readonly minPollDelay: Milliseconds;
  readonly maxPollDelay: Milliseconds;
  readonly shutdownTimeout: Milliseconds;
  readonly shutdownGrace: Milliseconds;
  readonly interruptionLimit: number;
  readonly workerEnabled: boolean;
  readonly schedulerEnabled: boolean;
  readonly defaultRetry: RetryPolicy;
  readonly workflowQueue: string;
  readonly retention: ResolvedRetention;
  readonly maxPayloadBytes: number;
  readonly lockTimeout: Milliseconds;
  readonly startupTimeout: Milliseconds;
  readonly acceptChangedShapes: readonly string[];
  readonly enhancers: 'method' | 'all';
  readonly clock: IClock;
  readonly tenants: ITenantContext;
  readonly ambientTransaction: (() => TransactionHandle | undefined) | null;
}

const MEBIBYTE = 2 ** 20;

/** The one table of defaults. */
export const DEFAULTS = {
  queues: ['default'],
  maxParallelism: 20,
  claimBatchSize: 500,
  activationBatchSize: 1000,
  leaseDuration: 5 * MINUTE,
  heartbeatInterval: 15 * SECOND,
  schedulerInterval: SECOND,
  minPollDelay: 200,
  maxPollDelay: 5 * SECOND,
  shutdownTimeout: 15 * SECOND,
  shutdownGrace: 2 * SECOND,
  interruptionLimit: 10,
  workerEnabled: true,
  schedulerEnabled: true,
  defaultRetry: Retry.exponential(5),
  workflowQueue: 'default',
  retention: {
    succeeded: 7 * DAY,
    cancelled: 7 * DAY,
    dead: false,
    completedInstances: 30 * DAY,
    failedInstances: false,
  },
  maxPayloadBytes: MEBIBYTE,
  lockTimeout: 5 * SECOND,
  startupTimeout: 30 * SECOND,
  acceptChangedShapes: [],
  enhancers: 'method',
} as const;

const MAX_PAYLOAD_LIMIT = 8 * MEBIBYTE;

const OPTION_NAMES: ReadonlySet<string> = new Set<keyof MillraceOptions>([
  ...(Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]),
  'storage',
  'clock',
  'tenants',
  'ambientTransaction',
]);

/** Merges layers: a later one wins for each key that it sets; a key that it holds as undefined is not set. */
export function mergeLayers(layers: readonly MillraceOptionsLayer[]): MillraceOptionsLayer {
  return Object.assign({}, ...layers.map((layer) => withoutUndefined(layer))) as MillraceOptionsLayer;
}

/**
 * Merges layers, fills in the defaults and checks every value.
 *
 * @throws {InvalidArgumentError} an option is unknown, missing or of the wrong kind; the message names it
 */
export function resolveOptions(...layers: readonly MillraceOptionsLayer[]): ResolvedMillraceOptions {
  const given = { ...DEFAULTS, ...mergeLayers(layers) };
  refuseUnknownNames(given, OPTION_NAMES, 'MillraceModule');
  const options: ResolvedMillraceOptions = {
    storage: storageOf(given.storage),
    queues: queuesOf(given.queues),
    maxParallelism: checkedCount(given.maxParallelism, 'maxParallelism'),
    claimBatchSize: checkedCount(given.claimBatchSize, 'claimBatchSize'),
    activationBatchSize: checkedCount(given.activationBatchSize, 'activationBatchSize'),
    leaseDuration: checkedInterval(given.leaseDuration, 'leaseDuration'),
    heartbeatInterval: checkedInterval(given.heartbeatInterval, 'heartbeatInterval'),
    schedulerInterval: checkedInterval(given.schedulerInterval, 'schedulerInterval'),
    minPollDelay: checkedInterval(given.minPollDelay, 'minPollDelay'),
    maxPollDelay: checkedInterval(given.maxPollDelay, 'maxPollDelay'),
    shutdownTimeout: checkedTimeout(given.shutdownTimeout, 'shutdownTimeout'),
    shutdownGrace: checkedTimeout(given.shutdownGrace, 'shutdownGrace'),
    interruptionLimit: checkedCount(given.interruptionLimit, 'interruptionLimit'),
    workerEnabled: checkedFlag(given.workerEnabled, 'workerEnabled'),
    schedulerEnabled: checkedFlag(given.schedulerEnabled, 'schedulerEnabled'),
    defaultRetry: retryOf(given.defaultRetry),
    workflowQueue: checkedName(given.workflowQueue, 'queue'),
    retention: retentionOf(given.retention),
    maxPayloadBytes: payloadLimit(given.maxPayloadBytes),
    lockTimeout: checkedTimeout(given.lockTimeout, 'lockTimeout'),
    startupTimeout: checkedTimeout(given.startupTimeout, 'startupTimeout'),
    acceptChangedShapes: shapesOf(given.acceptChangedShapes),
    enhancers: enhancersOf(given.enhancers),
    clock: withMethods(given.clock === undefined ? new SystemClock() : given.clock, 'clock', 'an IClock', ['now']),
    tenants: withMethods(
      given.tenants === undefined ? new AsyncLocalTenantContext() : given.tenants,
      'tenants',
      'an ITenantContext',
      ['current', 'run'],
    ),
    ambientTransaction: resolverOf(given.ambientTransaction),
  };
  if (options.leaseDuration <= options.heartbeatInterval) {
    throw unexpected(
      'leaseDuration',
      `longer than heartbeatInterval (${options.heartbeatInterval} ms)`,
      options.leaseDuration,
    );
  }
  if (options.maxPollDelay < options.minPollDelay) {
    throw unexpected('maxPollDelay', `minPollDelay (${options.minPollDelay} ms) or longer`, options.maxPollDelay);
  }
  return options;
}

function withoutUndefined(layer: MillraceOptionsLayer): MillraceOptionsLayer {
  if (typeof layer !== 'object' || layer === null)
    throw unexpected('the options of MillraceModule', 'an object', layer);
  return Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== undefined));
}

function storageOf(storage: StorageRegistration | undefined): StorageRegistration {
  if (typeof storage?.provider !== 'string' || typeof storage.create !== 'function') {
    throw unexpected('storage', "a registration such as sqliteStorage({ database: 'millrace.db' })", storage);
  }
  return storage;
}

function queuesOf(queues: readonly string[]): readonly string[] {
  if (!Array.isArray(queues) || queues.length === 0) throw unexpected('queues', 'a list of one queue or more', queues);
  return [...new Set(queues.map((queue) => checkedName(queue, 'queue')))];
}

function payloadLimit(value: number): number {
  if (checkedCount(value, 'maxPayloadBytes') > MAX_PAYLOAD_LIMIT) {
    throw unexpected('maxPayloadBytes', `at most ${MAX_PAYLOAD_LIMIT} (8 MiB)`, value);
  }
  return value;
}

function retryOf(policy: RetryPolicy): RetryPolicy {
  if (typeof policy !== 'object' || policy === null)
    throw unexpected('defaultRetry', 'a policy such as Retry.exponential(5)', policy);
  return checkedRetry(policy, 'defaultRetry');
}

function retentionOf(given: RetentionOptions): ResolvedRetention {
  if (typeof given !== 'object' || given === null)
    throw unexpected('retention', "an object such as { succeeded: '7d' }", given);
  const defaults = DEFAULTS.retention;
  refuseUnknownNames(given, new Set(Object.keys(defaults)), 'retention');
  const kept = (name: keyof RetentionOptions): Milliseconds | false => {
    const value = given[name] === undefined ? defaults[name] : given[name];
    return value === false ? false : checkedDuration(value, `retention.${name}`);
  };
  return {
    succeeded: kept('succeeded'),
    cancelled: kept('cancelled'),
    dead: kept('dead'),
    completedInstances: kept('completedInstances'),
    failedInstances: kept('failedInstances'),
  };
}

function shapesOf(shapes: readonly unknown[]): readonly string[] {
  if (!Array.isArray(shapes) || !shapes.every(isVersion)) {
    throw unexpected('acceptChangedShapes', "a list of versions such as ['onboarding@1']", shapes);
  }
  return [...shapes];
}

function isVersion(shape: unknown): shape is string {
  return typeof shape === 'string' && /.@\d+$/.test(shape);
}

function enhancersOf(value: 'method' | 'all'): 'method' | 'all' {
  if (value !== 'method' && value !== 'all') throw unexpected('enhancers', "'method' or 'all'", value);
  return value;
}

function withMethods<T extends object>(value: T, name: string, expectation: string, methods: readonly (keyof T)[]): T {
  const complete =
    typeof value === 'object' && value !== null && methods.every((method) => typeof value[method] === 'function');
  if (!complete) throw unexpected(name, expectation, value);
  return value;
}

function resolverOf(
  resolver: (() => TransactionHandle | undefined) | undefined,
): (() => TransactionHandle | undefined) | null {
  if (resolver === undefined) return null;
  if (typeof resolver !== 'function') {
    throw unexpected('ambientTransaction', 'a function that returns an open transaction or undefined', resolver);
  }
  return resolver;
}
