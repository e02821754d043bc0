import { Logger, type LoggerService } from '@nestjs/common';
import type { JobId } from '../model/ids';
import type { ClaimedJob, JobRecord } from '../model/job';
import { checkedFollowUpOptions, type FollowUpOptions } from './enqueue-options';
import { JobContext, type JobWorkflow } from './job-context';
import type { JobFactory } from './job-factory';
import type { JobCall, JobTargetType } from './job-target-type';
import { JobEndedError } from './job.errors';

/** One execution of a claimed job: made by whoever runs it, and the {@link JobContext} of its handler. */
export class JobExecution extends JobContext {
  override readonly active = true;
  private controller: AbortController | undefined;
  private abortion: { readonly reason: Error } | undefined;
  private added: JobRecord[] | undefined;
  private ended = false;
  private contextLogger: LoggerService | undefined;

  constructor(
    readonly job: ClaimedJob,
    private readonly factory: JobFactory,
  ) {
    super();
  }

  override get jobId(): JobId {
    return this.job.id;
  }

  override get handler(): string {
    return this.job.handler;
  }

  override get queue(): string {
    return this.job.queue;
  }

  override get attempt(): number {
    return this.job.attempt;
  }

  override get failures(): number {
    return this.job.failures;
  }

  override get tenantId(): string | null {
    return this.job.tenantId;
  }

  override get recurringId(): string | null {
    return this.job.recurringId;
  }

  override get occurrenceAt(): Date | null {
    return this.job.occurrenceAt;
  }

  override get workflow(): JobWorkflow | undefined {
    return this.job.instanceId === null ? undefined : { instanceId: this.job.instanceId };
  }

  override get logger(): LoggerService {
    this.contextLogger ??= new Logger(`${this.job.handler} ${this.job.id}`);
    return this.contextLogger;
  }

  /** Made when somebody asks for it: most jobs never do. */
  override get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.abortion !== undefined) this.controller.abort(this.abortion.reason);
    }
    return this.controller.signal;
  }

  /** Why the execution was asked to stop; undefined while it was not. */
  get abortReason(): Error | undefined {
    return this.abortion?.reason;
  }

  /** Asks the handler to stop. The first reason stands; later calls change nothing. */
  abort(reason: Error): void {
    if (this.abortion !== undefined) return;
    this.abortion = { reason };
    this.controller?.abort(reason);
  }

  override enqueueOnSuccess<T>(target: JobTargetType<T>, call: JobCall<T>, options?: FollowUpOptions): JobId {
    if (this.ended) throw new JobEndedError(this.job.id);
    const job = this.factory.create(this.factory.capture(target, call), checkedFollowUpOptions(options), {});
    (this.added ??= []).push(job);
    return job.id;
  }

  /** What belongs to this job's success, and to nothing else. */
  get followUps(): readonly JobRecord[] {
    return this.added ?? [];
  }

  /** The handler has ended: nothing can be added any more. */
  end(): void {
    this.ended = true;
  }
}
