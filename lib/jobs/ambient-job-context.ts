import type { LoggerService } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobId } from '../model/ids';
import type { FollowUpOptions } from './enqueue-options';
import { JobContext, type JobWorkflow } from './job-context';
import type { JobCall, JobTargetType } from './job-target-type';
import { NoJobContextError } from './job.errors';

/** The execution that the running code belongs to. */
export const runningExecution = new AsyncLocalStorage<JobContext>();

/** The {@link JobContext} that is injected: looks at the running execution each time it is read. */
export class AmbientJobContext extends JobContext {
  override get active(): boolean {
    return runningExecution.getStore() !== undefined;
  }

  override get jobId(): JobId {
    return current().jobId;
  }

  override get handler(): string {
    return current().handler;
  }

  override get queue(): string {
    return current().queue;
  }

  override get attempt(): number {
    return current().attempt;
  }

  override get failures(): number {
    return current().failures;
  }

  override get tenantId(): string | null {
    return current().tenantId;
  }

  override get recurringId(): string | null {
    return current().recurringId;
  }

  override get occurrenceAt(): Date | null {
    return current().occurrenceAt;
  }

  override get signal(): AbortSignal {
    return current().signal;
  }

  override get workflow(): JobWorkflow | undefined {
    return current().workflow;
  }

  override get logger(): LoggerService {
    return current().logger;
  }

  override enqueueOnSuccess<T>(target: JobTargetType<T>, call: JobCall<T>, options?: FollowUpOptions): JobId {
    return current().enqueueOnSuccess(target, call, options);
  }
}

function current(): JobContext {
  const execution = runningExecution.getStore();
  if (execution === undefined) throw new NoJobContextError();
  return execution;
}
