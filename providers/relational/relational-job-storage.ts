import {
  type ClaimedJob,
  type ClaimRef,
  type ClaimRequest,
  type IClock,
  IJobStorage,
  type JobId,
  type JobRecord,
  type JobTransition,
  type Milliseconds,
  type NodeRecord,
  type Probe,
  type ProbeRequest,
  type QueueRecord,
  type RecurringDefinition,
  type Renewal,
  type RetentionCutoffs,
  SUSPECT_INTERRUPTIONS,
  type TransactionHandle,
  type TransitionResult,
} from '../../lib/storage';
import { activateDue } from './activate-due';
import { applyTransitions } from './apply-transitions';
import { cancel } from './cancel';
import { claimReady, claimSuspect, hasClaimable, inClaimOrder, takeOverExpired } from './claim';
import type { Database, OperationFactory, TransactionOptions } from './database';
import { deleteJob } from './delete-job';
import type { Dialect } from './dialect';
import { enqueue } from './enqueue';
import { getJob } from './get-job';
import { checkNewJobs, isOneStatement, waitsOf } from './new-jobs';
import { getNodes, recordNode, removeNode } from './nodes';
import { probe } from './probe';
import { getQueues, setQueuePaused } from './queues';
import {
  getDueRecurring,
  getRecurring,
  parkRecurring,
  removeRecurring,
  tryFireRecurring,
  upsertRecurring,
} from './recurring';
import { renew } from './renew';
import { prune } from './retention';
import { runNow } from './run-now';

/** What a second run may repeat without harm, or finds done. */
const REPEATABLE = { ifUnknown: 'retry' } as const satisfies TransactionOptions;
/** What cannot tell whether a first run took place. */
const ONCE = { ifUnknown: 'fail' } as const satisfies TransactionOptions;
const SINGLE = { single: true } as const;

/** Jobs over a relational database: each operation is made anew for its run, and told the time once. */
export class RelationalJobStorage extends IJobStorage {
  constructor(
    private readonly database: () => Database,
    private readonly dialect: Dialect,
    private readonly clock: IClock,
  ) {
    super();
  }

  override async enqueue(jobs: readonly JobRecord[], transaction?: TransactionHandle): Promise<JobId[]> {
    if (jobs.length === 0) return [];
    checkNewJobs(jobs);
    const operation: OperationFactory<JobId[]> = ({ again }) => enqueue(this.dialect, jobs, this.now(), again);
    const waitsFor = waitsOf(jobs);
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.write(operation, { ...REPEATABLE, single: isOneStatement(jobs), waitsFor });
  }

  override async claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    if (request.limit <= 0 || request.queues.length === 0) return [];
    const jobs: ClaimedJob[] = [];
    if (request.expired) {
      jobs.push(...(await this.write(() => takeOverExpired(request, this.now(), request.limit), ONCE)));
    }
    if (
      request.suspects &&
      jobs.length < request.limit &&
      !jobs.some(({ interruptions }) => interruptions >= SUSPECT_INTERRUPTIONS)
    ) {
      jobs.push(...(await this.write(() => claimSuspect(request, this.now()), { ...ONCE, ...SINGLE })));
    }
    const rest = request.limit - jobs.length;
    if (rest > 0) jobs.push(...(await this.write(() => claimReady(request, this.now(), rest), { ...ONCE, ...SINGLE })));
    return inClaimOrder(jobs);
  }

  override async renew(workerId: string, claims: readonly ClaimRef[], leaseDuration: Milliseconds): Promise<Renewal> {
    return this.write(() => renew(workerId, claims, leaseDuration, this.now()), { ...REPEATABLE, ...SINGLE });
  }

  override async apply(transitions: readonly JobTransition[]): Promise<TransitionResult[]> {
    return applyTransitions(this.database(), this.dialect, transitions, this.clock.now());
  }

  override async cancel(id: JobId, transaction?: TransactionHandle): Promise<boolean> {
    const operation = () => cancel(id, this.now());
    const waitsFor = `job ${id}`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.write(operation, { ...ONCE, waitsFor });
  }

  override async runNow(id: JobId): Promise<boolean> {
    return this.write(() => runNow(id, this.now()), { ...ONCE, waitsFor: `job ${id}` });
  }

  override async delete(id: JobId): Promise<boolean> {
    return this.write(() => deleteJob(id), { ...ONCE, waitsFor: `job ${id}` });
  }

  override async getJob(id: JobId, transaction?: TransactionHandle): Promise<JobRecord | null> {
    return this.read(() => getJob(id), transaction);
  }

  override async activateDue(limit: number): Promise<number> {
    return this.write(() => activateDue(limit, this.now()), ONCE);
  }

  override async upsertRecurring(definition: RecurringDefinition, transaction?: TransactionHandle): Promise<void> {
    const operation = () => upsertRecurring(definition);
    const waitsFor = `recurring definition "${definition.id}"`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.write(operation, { ...REPEATABLE, waitsFor });
  }

  override async getRecurring(id: string, transaction?: TransactionHandle): Promise<RecurringDefinition | null> {
    return this.read(() => getRecurring(id), transaction);
  }

  override async removeRecurring(id: string, transaction?: TransactionHandle): Promise<void> {
    const operation = () => removeRecurring(id);
    const waitsFor = `recurring definition "${id}"`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.write(operation, { ...REPEATABLE, waitsFor });
  }

  override async getDueRecurring(limit: number): Promise<RecurringDefinition[]> {
    return this.database().read(() => getDueRecurring(limit, this.now()));
  }

  override async tryFireRecurring(
    id: string,
    expected: Date,
    next: Date | null,
    job: JobRecord | null,
  ): Promise<boolean> {
    return this.write(
      ({ again }) => tryFireRecurring(this.dialect, { id, expected, next, job, now: this.now(), again }),
      { ...REPEATABLE, waitsFor: `recurring definition "${id}"` },
    );
  }

  override async parkRecurring(id: string, expected: Date, reason: string): Promise<boolean> {
    return this.write(() => parkRecurring(id, expected, reason, this.now()), ONCE);
  }

  override async setQueuePaused(queue: string, paused: boolean): Promise<void> {
    return this.write(() => setQueuePaused(queue, paused), REPEATABLE);
  }

  override async getQueues(): Promise<QueueRecord[]> {
    return this.database().read(() => getQueues());
  }

  override async probe(request: ProbeRequest): Promise<Probe> {
    return this.database().read(() => probe(request, this.now()));
  }

  override async hasClaimable(queues: readonly string[]): Promise<boolean> {
    if (queues.length === 0) return false;
    return this.database().read(() => hasClaimable(queues));
  }

  override async recordNode(node: NodeRecord): Promise<void> {
    return this.write(() => recordNode(node), REPEATABLE);
  }

  override async removeNode(id: string): Promise<void> {
    return this.write(() => removeNode(id), REPEATABLE);
  }

  override async getNodes(): Promise<NodeRecord[]> {
    return this.database().read(() => getNodes());
  }

  override async prune(cutoffs: RetentionCutoffs, limit: number): Promise<number> {
    return this.write(() => prune(cutoffs, limit, this.now()), REPEATABLE);
  }

  private now(): number {
    return this.clock.now().getTime();
  }

  /** In the caller's transaction, where there is one: it may hold the last connection of the pool. */
  private read<T>(operation: OperationFactory<T>, transaction: TransactionHandle | undefined): Promise<T> {
    return transaction ? this.database().join(transaction, operation) : this.database().read(operation);
  }

  private write<T>(operation: OperationFactory<T>, options: TransactionOptions): Promise<T> {
    return this.database().transaction(operation, options);
  }
}
