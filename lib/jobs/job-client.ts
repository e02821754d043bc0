import { Inject, Injectable } from '@nestjs/common';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { InvalidArgumentError } from '../model/errors';
import { type JobId, newId } from '../model/ids';
import { type JobRecord, newJob } from '../model/job';
import { isTerminal, JobState } from '../model/job-state';
import { CronExpression } from '../model/cron-expression';
import type { JobDetails } from '../model/monitoring';
import { checkedName } from '../model/names';
import type { RecurringDefinition } from '../model/recurring-definition';
import { type Duration, later, latest, LATEST_INSTANT } from '../model/time';
import { IJobStorage } from '../storage/job-storage';
import { IMonitoringStorage } from '../storage/monitoring-storage';
import { callerTransaction } from './caller-transaction';
import {
  checkedEnqueueOptions,
  checkedRecurringOptions,
  checkedTransactionOptions,
  type EnqueueOptions,
  type RecurringOptions,
  type TransactionOptions,
} from './enqueue-options';
import { EnqueueCoalescer } from './enqueue-coalescer';
import { type BatchMember, checkedDelay, checkedJobId, JobBatch, type JobDelay } from './job-batch';
import { IJobClient } from './job-client.interface';
import { JobFactory } from './job-factory';
import { JobRegistry } from './job-registry';
import type { JobCall, JobTargetType } from './job-target-type';
import { JobNotFinishedError, WorkflowJobError } from './job.errors';

@Injectable()
export class JobClient extends IJobClient {
  constructor(
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
    @Inject(IJobStorage) private readonly storage: IJobStorage,
    @Inject(IMonitoringStorage) private readonly monitoring: IMonitoringStorage,
    @Inject(EnqueueCoalescer) private readonly coalescer: EnqueueCoalescer,
    @Inject(JobFactory) private readonly factory: JobFactory,
    @Inject(JobRegistry) private readonly registry: JobRegistry,
  ) {
    super();
  }

  override async enqueue<T>(target: JobTargetType<T>, call: JobCall<T>, options?: EnqueueOptions): Promise<JobId> {
    return this.store(this.recorded(target, call, options, {}), options);
  }

  override async schedule<T>(
    target: JobTargetType<T>,
    call: JobCall<T>,
    when: Duration | Date,
    options?: EnqueueOptions,
  ): Promise<JobId> {
    return this.store(this.recorded(target, call, options, this.scheduled(checkedDelay(when))), options);
  }

  override async continueWith<T>(
    parent: JobId,
    target: JobTargetType<T>,
    call: JobCall<T>,
    options?: EnqueueOptions,
  ): Promise<JobId> {
    const parentId = checkedJobId(parent, 'the parent');
    return this.store(this.recorded(target, call, options, { state: JobState.Awaiting, parentId }), options);
  }

  override async enqueueBatch(batch: JobBatch, options?: TransactionOptions): Promise<JobId[]> {
    if (!(batch instanceof JobBatch)) throw new InvalidArgumentError('expected a JobBatch: new JobBatch().enqueue(…).');
    checkedTransactionOptions(options, 'enqueueBatch');
    refuseSharedKeys(batch.members);
    const transaction = callerTransaction(options, this.options);
    const jobs: JobRecord[] = [];
    for (const member of batch.members) jobs.push(this.member(member, jobs));
    return jobs.length === 0 ? [] : this.storage.enqueue(jobs, transaction);
  }

  override async upsertRecurring<T>(
    id: string,
    cron: string,
    target: JobTargetType<T>,
    call: JobCall<T>,
    options: RecurringOptions = {},
  ): Promise<void> {
    checkedName(id, 'recurring id');
    const { misfire, ...placement } = checkedRecurringOptions(options);
    const now = this.options.clock.now();
    const expression = CronExpression.parse(cron);
    expression.firstAfter(now);
    const placed = this.factory.place(this.factory.capture(target, call), placement);
    // A clock that was set back must not bring what has fired: the store would then keep the old schedule's next instant.
    const transaction = callerTransaction(options, this.options);
    const fired = (await this.storage.getRecurring(id, transaction))?.lastFireTime ?? now;
    const definition: RecurringDefinition = {
      id,
      cron,
      ...placed,
      misfire,
      nextFireTime: expression.firstAfter(latest(now, fired)),
      lastFireTime: null,
      parkedReason: null,
      createdAt: now,
      updatedAt: now,
    };
    await this.storage.upsertRecurring(definition, transaction);
  }

  override async removeRecurring(id: string, options?: TransactionOptions): Promise<void> {
    checkedTransactionOptions(options, 'removeRecurring');
    await this.storage.removeRecurring(checkedName(id, 'recurring id'), callerTransaction(options, this.options));
  }

  override async triggerRecurring(id: string, options?: TransactionOptions): Promise<boolean> {
    checkedTransactionOptions(options, 'triggerRecurring');
    const transaction = callerTransaction(options, this.options);
    const definition = await this.storage.getRecurring(checkedName(id, 'recurring id'), transaction);
    if (definition === null) return false;
    const { queue, priority, handler, args, argTypes, retry, timeout, tenantId } = definition;
    const place = { queue, priority, handler, args, argTypes, retry, timeout, tenantId };
    await this.storage.enqueue([newJob({ ...this.identity(), ...place, recurringId: id })], transaction);
    return true;
  }

  override async cancel(id: JobId, options?: TransactionOptions): Promise<boolean> {
    const jobId = checkedJobId(id);
    checkedTransactionOptions(options, 'cancel');
    const transaction = callerTransaction(options, this.options);
    const job = await this.storage.getJob(jobId, transaction);
    refuseWorkflowJob(job, 'cancel', 'Use workflows.cancel of the instance.');
    return this.storage.cancel(jobId, transaction);
  }

  override async runNow(id: JobId): Promise<boolean> {
    return this.storage.runNow(checkedJobId(id));
  }

  override async requeue(id: JobId, options?: TransactionOptions): Promise<JobId | null> {
    const jobId = checkedJobId(id);
    checkedTransactionOptions(options, 'requeue');
    const transaction = callerTransaction(options, this.options);
    const original = await this.storage.getJob(jobId, transaction);
    if (original === null) return null;
    refuseWorkflowJob(original, 'requeue', 'Use workflows.retry or workflows.resolve of the instance.');
    if (!isTerminal(original.state)) throw new JobNotFinishedError(jobId, original.state);
    const { queue, priority, handler, args, argTypes, retry, timeout, tenantId, idempotencyKey } = original;
    const place = { queue, priority, handler, args, argTypes, retry, timeout, tenantId, idempotencyKey };
    const { recurringId, occurrenceAt } = original;
    const job = newJob({ ...this.identity(), ...place, recurringId, occurrenceAt, requeuedFrom: jobId });
    const [effectiveId] = await this.storage.enqueue([job], transaction);
    return effectiveId ?? job.id;
  }

  override async delete(id: JobId): Promise<boolean> {
    const jobId = checkedJobId(id);
    refuseWorkflowJob(await this.storage.getJob(jobId), 'delete', 'It goes with its instance.');
    return this.storage.delete(jobId);
  }

  override async getJob(id: JobId): Promise<JobDetails | null> {
    return this.monitoring.getJobDetails(checkedJobId(id));
  }

  override async getRecurring(id: string): Promise<RecurringDefinition | null> {
    return this.storage.getRecurring(checkedName(id, 'recurring id'));
  }

  override async pauseQueue(queue: string): Promise<void> {
    await this.storage.setQueuePaused(checkedName(queue, 'queue'), true);
  }

  override async resumeQueue(queue: string): Promise<void> {
    await this.storage.setQueuePaused(checkedName(queue, 'queue'), false);
  }

  override getHandlerNames(): readonly string[] {
    return this.registry.names();
  }

  private recorded<T>(
    target: JobTargetType<T>,
    call: JobCall<T>,
    options: EnqueueOptions | undefined,
    fields: Partial<JobRecord>,
  ): JobRecord {
    return this.factory.create(this.factory.capture(target, call), checkedEnqueueOptions(options), fields);
  }

  private async store(job: JobRecord, options: EnqueueOptions | undefined): Promise<JobId> {
    const transaction = callerTransaction(options, this.options);
    if (transaction === undefined && job.idempotencyKey === null && job.parentId === null) {
      return this.coalescer.enqueue(job);
    }
    const [effectiveId] = await this.storage.enqueue([job], transaction);
    return effectiveId ?? job.id;
  }

  private member({ call, options, delay, parent }: BatchMember, earlier: readonly JobRecord[]): JobRecord {
    if (delay !== null) return this.factory.create(call, options, this.scheduled(delay));
    if (parent === null) return this.factory.create(call, options, {});
    const parentId = typeof parent === 'number' ? earlier[parent]?.id : parent;
    return this.factory.create(call, options, { state: JobState.Awaiting, parentId: parentId ?? null });
  }

  private scheduled(delay: JobDelay): Partial<JobRecord> {
    const dueAt = 'at' in delay ? delay.at : later(this.options.clock.now(), delay.after);
    // Written so that an invalid date is refused, too.
    if (!(dueAt <= LATEST_INSTANT)) {
      throw new InvalidArgumentError('expected the due time to be before the year 10000, which stores cannot hold.');
    }
    return { state: JobState.Scheduled, dueAt };
  }

  private identity(): Pick<JobRecord, 'id' | 'createdAt'> {
    const createdAt = this.options.clock.now();
    return { id: newId(createdAt), createdAt };
  }
}

function refuseWorkflowJob(job: JobRecord | null, operation: string, instead: string): void {
  if (job === null || job.instanceId === null) return;
  throw new WorkflowJobError(job.id, job.instanceId, operation, instead);
}

function refuseSharedKeys(members: readonly BatchMember[]): void {
  const seen = new Set<string>();
  for (const { options } of members) {
    const key = options.idempotencyKey;
    if (key === null) continue;
    if (seen.has(key)) {
      throw new InvalidArgumentError(
        `Two jobs of the batch have the idempotency key ${JSON.stringify(key)}; keep one of them.`,
      );
    }
    seen.add(key);
  }
}
