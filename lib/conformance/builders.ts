import { IdGenerator } from '../model/ids';
import { type ClaimedJob, type JobRecord, newJob } from '../model/job';
import type { JobTransition, TransitionTarget } from '../model/job-transition';
import { MisfirePolicy, type RecurringDefinition } from '../model/recurring-definition';
import { Retry } from '../model/retry';
import { HOUR, type IClock, later, MINUTE } from '../model/time';
import type { ClaimRequest, ProbeRequest, RetentionCutoffs } from '../storage/job-storage';

const generators = new WeakMap<IClock, Map<number, IdGenerator>>();

/** A new id of this instant: ids of one instant increase, and an earlier instant gives an earlier id at any time. */
export function anId(clock: IClock, at: Date = clock.now()): string {
  const byInstant = generators.get(clock) ?? new Map<number, IdGenerator>();
  const generator = byInstant.get(at.getTime()) ?? new IdGenerator();
  generators.set(clock, byInstant.set(at.getTime(), generator));
  return generator.next(at);
}

/** An Enqueued job on queue `default`, created now. */
export function aJob(clock: IClock, fields: Partial<JobRecord> = {}): JobRecord {
  const createdAt = fields.createdAt ?? clock.now();
  return newJob({
    id: anId(clock, createdAt),
    queue: 'default',
    handler: 'Conformance.work',
    args: '[]',
    retry: Retry.none,
    createdAt,
    ...fields,
  });
}

export function someJobs(count: number, clock: IClock, fields: Partial<JobRecord> = {}): JobRecord[] {
  return Array.from({ length: count }, () => aJob(clock, fields));
}

export function aScheduledJob(clock: IClock, dueAt: Date, fields: Partial<JobRecord> = {}): JobRecord {
  return aJob(clock, { state: 'Scheduled', dueAt, ...fields });
}

export function aContinuation(clock: IClock, parentId: string, fields: Partial<JobRecord> = {}): JobRecord {
  return aJob(clock, { state: 'Awaiting', parentId, ...fields });
}

/** A claim of everything that can be claimed from queue `default`, for five minutes. */
export function claimBy(workerId: string, request: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    workerId,
    queues: ['default'],
    limit: 10,
    leaseDuration: 5 * MINUTE,
    maxPayload: 2 ** 24,
    expired: true,
    suspects: true,
    ...request,
  };
}

/** A claimed job and who claimed it: what the fence is made of. */
export type Claimed = ClaimedJob & { readonly workerId: string };

type Changes = Partial<JobTransition>;

export function transition(of: Claimed, target: TransitionTarget, changes: Changes = {}): JobTransition {
  return {
    id: of.id,
    workerId: of.workerId,
    attempt: of.attempt,
    target,
    failures: of.failures,
    dueAt: null,
    error: null,
    history: null,
    enqueue: [],
    instanceId: of.instanceId,
    advance: null,
    ...changes,
  };
}

export function succeeded(of: Claimed, changes: Changes = {}): JobTransition {
  return transition(of, 'Succeeded', changes);
}

/** Threw "boom", and is tried again at `dueAt`. */
export function failed(of: Claimed, dueAt: Date, changes: Changes = {}): JobTransition {
  return transition(of, 'Failed', { failures: of.failures + 1, error: 'boom', history: 'Failed', dueAt, ...changes });
}

/** Threw "boom" for the last time. */
export function dead(of: Claimed, changes: Changes = {}): JobTransition {
  return transition(of, 'Dead', { failures: of.failures + 1, error: 'boom', history: 'Failed', ...changes });
}

/** Ended because somebody had asked for it. */
export function stopped(of: Claimed, changes: Changes = {}): JobTransition {
  return transition(of, 'Cancelled', changes);
}

/** Given back by a node that shuts down. */
export function released(of: Claimed, changes: Changes = {}): JobTransition {
  return transition(of, 'Enqueued', { history: 'Interrupted', ...changes });
}

/** Given back until `dueAt` by a node that lacks its handler. */
export function putBack(of: Claimed, dueAt: Date, changes: Changes = {}): JobTransition {
  return transition(of, 'Scheduled', { dueAt, error: 'no handler here', ...changes });
}

/** An hourly definition whose next fire time is an hour ahead. */
export function aDefinition(clock: IClock, fields: Partial<RecurringDefinition> = {}): RecurringDefinition {
  return {
    id: 'nightly-report',
    cron: '0 * * * *',
    queue: 'default',
    priority: 0,
    handler: 'Conformance.report',
    args: '[]',
    argTypes: null,
    retry: Retry.none,
    timeout: null,
    misfire: MisfirePolicy.FireOnce,
    tenantId: null,
    nextFireTime: later(clock.now(), HOUR),
    lastFireTime: null,
    parkedReason: null,
    createdAt: clock.now(),
    updatedAt: clock.now(),
    ...fields,
  };
}

/** Cutoffs that keep everything for ever, but for those given. */
export function cutoffs(given: Partial<RetentionCutoffs> = {}): RetentionCutoffs {
  return {
    succeeded: null,
    cancelled: null,
    dead: null,
    completedInstances: null,
    failedInstances: null,
    ...given,
  };
}

export function aProbe(request: Partial<ProbeRequest> = {}): ProbeRequest {
  return { queues: ['default'], retention: cutoffs(), ...request };
}
