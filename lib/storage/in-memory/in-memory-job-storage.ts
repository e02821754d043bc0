import type { JobId } from '../../model/ids';
import type { ClaimedJob, JobRecord } from '../../model/job';
import { isTerminal } from '../../model/job-state';
import type { ClaimRef, JobTransition, TransitionResult } from '../../model/job-transition';
import type { NodeRecord, QueueRecord } from '../../model/node';
import type { RecurringDefinition } from '../../model/recurring-definition';
import type { Milliseconds } from '../../model/time';
import {
  type ClaimRequest,
  IJobStorage,
  type Probe,
  type ProbeRequest,
  type Renewal,
  type RetentionCutoffs,
} from '../job-storage';
import type { TransactionHandle } from '../transaction-handle';
import { apply } from './apply';
import type { CallerTransactions } from './caller-transactions';
import { cancel } from './cancel';
import { claim, hasClaimable } from './claim';
import { copyDefinition, copyJob, copyNode } from './copies';
import type { Database } from './database';
import { enqueue } from './enqueue';
import { probe } from './probe';
import { parkRecurring, tryFireRecurring, upsertRecurring } from './recurring';
import { renew } from './renew';
import { prune } from './retention';
import { activateDue, runNow } from './schedule';

/** Jobs in memory. Each operation is a function of its own that never waits; here it becomes a promise. */
export class InMemoryJobStorage extends IJobStorage {
  constructor(
    private readonly db: Database,
    private readonly callers: CallerTransactions,
  ) {
    super();
  }

  override async enqueue(jobs: readonly JobRecord[], transaction?: TransactionHandle): Promise<JobId[]> {
    this.callers.check(transaction);
    return this.db.run((tables, now) => enqueue(tables, jobs, now));
  }

  override claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return this.db.run((tables, now) => claim(tables, request, now));
  }

  override renew(workerId: string, claims: readonly ClaimRef[], leaseDuration: Milliseconds): Promise<Renewal> {
    return this.db.run((tables, now) => renew(tables, workerId, claims, leaseDuration, now));
  }

  override apply(transitions: readonly JobTransition[]): Promise<TransitionResult[]> {
    return this.db.run((tables, now) => apply(tables, transitions, now));
  }

  override async cancel(id: JobId, transaction?: TransactionHandle): Promise<boolean> {
    this.callers.check(transaction);
    return this.db.run((tables, now) => cancel(tables, id, now));
  }

  override runNow(id: JobId): Promise<boolean> {
    return this.db.run((tables, now) => runNow(tables, id, now));
  }

  override delete(id: JobId): Promise<boolean> {
    return this.db.run(({ jobs }) => {
      const job = jobs.get(id);
      if (job === undefined || !isTerminal(job.record.state)) return false;
      jobs.remove(job);
      return true;
    });
  }

  override async getJob(id: JobId, transaction?: TransactionHandle): Promise<JobRecord | null> {
    this.callers.check(transaction);
    return this.db.run(({ jobs }) => {
      const job = jobs.get(id);
      return job ? copyJob(job.record) : null;
    });
  }

  override activateDue(limit: number): Promise<number> {
    return this.db.run((tables, now) => activateDue(tables, limit, now));
  }

  override async upsertRecurring(definition: RecurringDefinition, transaction?: TransactionHandle): Promise<void> {
    this.callers.check(transaction);
    return this.db.run((tables) => upsertRecurring(tables, definition));
  }

  override async getRecurring(id: string, transaction?: TransactionHandle): Promise<RecurringDefinition | null> {
    this.callers.check(transaction);
    return this.db.run(({ recurring }) => {
      const definition = recurring.get(id);
      return definition ? copyDefinition(definition) : null;
    });
  }

  override async removeRecurring(id: string, transaction?: TransactionHandle): Promise<void> {
    this.callers.check(transaction);
    return this.db.run(({ recurring }) => recurring.remove(id));
  }

  override getDueRecurring(limit: number): Promise<RecurringDefinition[]> {
    return this.db.run(({ recurring }, now) => recurring.dueAt(now, limit).map(copyDefinition));
  }

  override tryFireRecurring(id: string, expected: Date, next: Date | null, job: JobRecord | null): Promise<boolean> {
    return this.db.run((tables, now) => tryFireRecurring(tables, id, expected, next, job, now));
  }

  override parkRecurring(id: string, expected: Date, reason: string): Promise<boolean> {
    return this.db.run((tables, now) => parkRecurring(tables, id, expected, reason, now));
  }

  override setQueuePaused(queue: string, paused: boolean): Promise<void> {
    return this.db.run(({ queues }) => {
      // A queue that never was paused need not be known to run.
      if (paused || queues.has(queue)) queues.set(queue, paused);
    });
  }

  override getQueues(): Promise<QueueRecord[]> {
    return this.db.run(({ queues }) => [...queues].map(([name, paused]) => ({ name, paused })));
  }

  override probe(request: ProbeRequest): Promise<Probe> {
    return this.db.run((tables, now) => probe(tables, request, now));
  }

  override hasClaimable(queues: readonly string[]): Promise<boolean> {
    return this.db.run((tables) => hasClaimable(tables, queues));
  }

  override recordNode(node: NodeRecord): Promise<void> {
    return this.db.run(({ nodes }) => {
      nodes.set(node.id, copyNode(node));
    });
  }

  override removeNode(id: string): Promise<void> {
    return this.db.run(({ nodes }) => {
      nodes.delete(id);
    });
  }

  override getNodes(): Promise<NodeRecord[]> {
    return this.db.run(({ nodes }) => [...nodes.values()].map(copyNode));
  }

  override prune(cutoffs: RetentionCutoffs, limit: number): Promise<number> {
    return this.db.run((tables) => prune(tables, cutoffs, limit));
  }
}
