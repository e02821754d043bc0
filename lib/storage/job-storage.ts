import type { ClaimRef, JobTransition, TransitionResult } from '../model/job-transition';
import type { ClaimedJob, JobRecord } from '../model/job';
import type { JobId } from '../model/ids';
import type { NodeRecord, QueueRecord } from '../model/node';
import type { RecurringDefinition } from '../model/recurring-definition';
import type { Milliseconds } from '../model/time';
import type { TransactionHandle } from './transaction-handle';

export interface ClaimRequest {
  readonly workerId: string;
  /** One pool: priority first, then age, across all of them. Paused ones are left out. Empty claims nothing. */
  readonly queues: readonly string[];
  /** At most this many; fewer is always allowed. Zero or less claims nothing. */
  readonly limit: number;
  readonly leaseDuration: Milliseconds;
  /** Stop adding jobs once their arguments pass this many UTF-16 units or bytes; the first one always fits. */
  readonly maxPayload: number;
  /** Also take over jobs whose lease has expired. */
  readonly expired: boolean;
  /**
   * Also claim suspects (two or more interruptions, the one that this claim may record included), at most one of them.
   * Without it they stay where they are.
   */
  readonly suspects: boolean;
}

/** One answer per claim of a renewal. `cancelRequested` is renewed too. */
export type RenewalAnswer = 'renewed' | 'cancelRequested' | 'lost';

export interface Renewal {
  /** By position of the claims that were passed. */
  readonly answers: readonly RenewalAnswer[];
  /** What this worker owns in the store and did not list; their leases are left alone. */
  readonly unlisted: readonly ClaimRef[];
}

/** What a probe should look for. */
export interface ProbeRequest {
  readonly queues: readonly string[];
  /** Retention, so that the probe can say whether anything has passed it. */
  readonly retention: RetentionCutoffs;
}

/** One read that answers whether anything needs doing. It may be slightly stale, and never blocks a claim. */
export interface Probe {
  /** A Scheduled or Failed job is due. */
  readonly due: boolean;
  /** A Processing job's lease has expired, in any queue that was asked for. */
  readonly expired: boolean;
  /** A job that is no suspect can be claimed from the queues that were asked for. */
  readonly claimable: boolean;
  /** A suspect can be claimed from them. */
  readonly suspects: boolean;
  /** A recurring definition's fire time has come. */
  readonly recurringDue: boolean;
  /** A wait has passed its `expiresAt`. */
  readonly waitsExpired: boolean;
  /** Something has passed its retention. */
  readonly prunable: boolean;
  /** Names of all paused queues. */
  readonly pausedQueues: readonly string[];
  /** True when the schema has become too new for this code: stop claiming and say so. */
  readonly schemaTooNew: boolean;
  /** The store's own clock, to compare with the node's; null where there is none of its own. */
  readonly databaseTime: Date | null;
}

/** What finished before these instants may be deleted; null keeps that kind for ever. */
export interface RetentionCutoffs {
  readonly succeeded: Date | null;
  readonly cancelled: Date | null;
  readonly dead: Date | null;
  /** Completed, compensated and cancelled instances. */
  readonly completedInstances: Date | null;
  readonly failedInstances: Date | null;
}

/**
 * Jobs: what a provider implements of them, and the exactly-once half of Millrace's promise.
 *
 * Rules for every operation: the provider's clock decides every comparison with the present; losing a race with another
 * node is a return value, never an exception; a mistake of the caller is an exception and leaves nothing behind. With
 * `transaction` the operation joins the caller's open transaction: it exists if and only if that commits, its wake-up
 * follows the commit, and a key conflict leaves the transaction usable.
 */
export abstract class IJobStorage {
  /**
   * Stores jobs, all or none, in the states Scheduled, Enqueued or Awaiting.
   *
   * A job whose (tenant, idempotency key) an active job holds is not stored; its position answers the holder's id. An
   * Awaiting job takes part in its parent's fate: stored Enqueued when the parent has succeeded, Cancelled (outside key
   * uniqueness, `finishedAt` now) when it is dead or cancelled, else Awaiting; the decision and the parent's own
   * transition exclude each other. A `parentId` may name an earlier job of the same call, and then follows that one's
   * effective id.
   *
   * @returns the effective id of each job, by position
   * @throws {ParentJobNotFoundError} a parent is unknown, whether or not the key is held
   * @throws {WorkflowJobParentError} a parent is a step of a workflow
   * @throws {DuplicateJobError} an id is stored already or comes twice
   * @throws {InvalidJobRecordError} another state, or Awaiting without a parent
   * @throws {LockTimeoutError} a key or parent stayed locked by somebody's transaction
   */
  abstract enqueue(jobs: readonly JobRecord[], transaction?: TransactionHandle): Promise<JobId[]>;

  /**
   * Takes jobs for a worker, exclusively: Processing, `workerId`, `leaseUntil` = now + lease, `attempt` + 1.
   *
   * Claimable is Enqueued, and with `expired` also Processing past its lease: such a takeover raises `interruptions` and
   * writes one Interrupted row for the attempt that was lost. Never waits for a lock: what is locked is left for the next claim.
   *
   * @returns the jobs, ordered by priority (highest first), then `readyAt`, then id
   */
  abstract claim(request: ClaimRequest): Promise<ClaimedJob[]>;

  /**
   * Extends the leases of running jobs and says which extensions held.
   *
   * Renewed if and only if the job is Processing under `workerId` with that attempt; the old expiry is not consulted, so
   * a lease that lapsed but was not taken over comes back to life. A row that is locked at the moment counts as renewed.
   *
   * @param claims order is irrelevant, an empty list is allowed (it still answers what is unlisted)
   */
  abstract renew(workerId: string, claims: readonly ClaimRef[], leaseDuration: Milliseconds): Promise<Renewal>;

  /**
   * Ends executions: each transition all or nothing for itself, all of them in one commit where that is possible.
   *
   * Of two transitions of one job in one call the first wins and the second is `fenced`. Transitions of one workflow
   * instance see each other, in order. Never waits for the lock of a stranger: see `held`.
   *
   * @returns one answer per transition, by position
   * @throws only when the store cannot be reached; then what was applied is told by sending the same call again (the job
   *   is found in its target state for that attempt, which counts as applied)
   */
  abstract apply(transitions: readonly JobTransition[]): Promise<TransitionResult[]>;

  /**
   * Cancels a job that has not started, with the closure of its Awaiting continuations; asks a running one to stop.
   *
   * @returns true when something was cancelled or asked to stop, false for a terminal or unknown job
   */
  abstract cancel(id: JobId, transaction?: TransactionHandle): Promise<boolean>;

  /** Makes a Failed job claimable at once. False in any other state. Spends nothing, changes nothing else. */
  abstract runNow(id: JobId): Promise<boolean>;

  /** Deletes a terminal job with its history. False in any other state, and for an unknown id. */
  abstract delete(id: JobId): Promise<boolean>;

  /** A job as it is now, or as the caller's transaction sees it, without waiting for anyone; null when there is none. */
  abstract getJob(id: JobId, transaction?: TransactionHandle): Promise<JobRecord | null>;

  /**
   * Makes Scheduled and Failed jobs whose `dueAt` has come claimable, earliest first, each exactly once across nodes.
   * `readyAt` becomes the later of `dueAt` and `createdAt`.
   *
   * @returns how many were moved; `limit` means that more may be waiting
   */
  abstract activateDue(limit: number): Promise<number>;

  /**
   * Creates or replaces a recurring definition. For an existing one `createdAt` and `lastFireTime` stay, and
   * `nextFireTime` changes only when the expression's text does (compared exactly) or the definition was parked; it never
   * becomes `lastFireTime` or earlier.
   *
   * @throws {RecurringTenantError} the stored definition belongs to another tenant
   */
  abstract upsertRecurring(definition: RecurringDefinition, transaction?: TransactionHandle): Promise<void>;

  abstract getRecurring(id: string, transaction?: TransactionHandle): Promise<RecurringDefinition | null>;

  /** Removes the definition and nothing else: what it fired runs on. An unknown id is a no-op. */
  abstract removeRecurring(id: string, transaction?: TransactionHandle): Promise<void>;

  /** Definitions whose `nextFireTime` has come, by that time and then id. */
  abstract getDueRecurring(limit: number): Promise<RecurringDefinition[]>;

  /**
   * Fires one occurrence: if `nextFireTime` still is `expected`, it becomes `next`, and `job` is stored with it.
   *
   * @param job the occurrence; null drops it (`misfire: 'skip'`), which leaves `lastFireTime` alone
   * @param next null parks the definition for lack of a further occurrence
   * @returns false when another node was first or the definition is gone; then nothing was stored
   */
  abstract tryFireRecurring(id: string, expected: Date, next: Date | null, job: JobRecord | null): Promise<boolean>;

  /** Takes a definition out of the schedule until its next upsert. False when its `nextFireTime` no longer is `expected`. */
  abstract parkRecurring(id: string, expected: Date, reason: string): Promise<boolean>;

  /** Pauses or resumes a queue for every node. */
  abstract setQueuePaused(queue: string, paused: boolean): Promise<void>;

  abstract getQueues(): Promise<QueueRecord[]>;

  /** Whether anything needs doing: one statement that locks nothing. */
  abstract probe(request: ProbeRequest): Promise<Probe>;

  /** Whether a claim of these queues would find a job that is no suspect: one statement that locks nothing. */
  abstract hasClaimable(queues: readonly string[]): Promise<boolean>;

  /** Stores what a node says of itself, replacing what it said before. */
  abstract recordNode(node: NodeRecord): Promise<void>;

  abstract removeNode(id: string): Promise<void>;

  abstract getNodes(): Promise<NodeRecord[]>;

  /**
   * Deletes at most about `limit` rows of what has passed its retention, skipping what is locked. Jobs of an instance go
   * with it, never before; the newest job of every recurring definition that still exists stays.
   *
   * @returns how many jobs and instances were deleted; 0 means that nothing is left to prune
   */
  abstract prune(cutoffs: RetentionCutoffs, limit: number): Promise<number>;
}
