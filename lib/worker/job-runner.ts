import { Inject, Injectable, Logger } from '@nestjs/common';
import { InvocationRunner } from '../jobs/invocation-runner';
import { RetryAfterError, SnoozeError, UnrecoverableJobError } from '../jobs/job-control.errors';
import { JobExecution } from '../jobs/job-execution';
import { JobFactory } from '../jobs/job-factory';
import { JobRegistry } from '../jobs/job-registry';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { failureText } from '../model/failure-text';
import type { ClaimedJob } from '../model/job';
import type { JobTransition } from '../model/job-transition';
import {
  cancelled,
  dead,
  failed,
  missingHandler,
  poisoned,
  putBack,
  released,
  snoozed,
  succeeded,
  verdictOf,
} from './job-outcomes';
import { IWorkflowSteps } from './workflow-steps';
import { isAbort, JobAbortedError } from './worker.errors';

/** Takes one claimed job to the transition that ends it. Knows no slots, no leases and no store. */
@Injectable()
export class JobRunner {
  private readonly logger = new Logger('Millrace');
  private readonly reportedMissing = new Set<string>();

  constructor(
    @Inject(JobRegistry) private readonly registry: JobRegistry,
    @Inject(InvocationRunner) private readonly invocations: InvocationRunner,
    @Inject(JobFactory) private readonly factory: JobFactory,
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
    @Inject(IWorkflowSteps) private readonly steps: IWorkflowSteps,
  ) {}

  /** Reads what running these jobs needs: call it before anything else is asked about them. */
  async load(jobs: readonly ClaimedJob[]): Promise<void> {
    if (!jobs.some(({ instanceId }) => instanceId !== null)) return;
    await this.steps.load(jobs);
  }

  /** How a job ends that must not be run; null when it may run. */
  refuse(job: ClaimedJob, workerId: string): JobTransition | null {
    const missing = this.missing(job);
    switch (verdictOf(job, missing === null, this.options.interruptionLimit)) {
      case 'cancel':
        return this.cancel(job, workerId);
      case 'putBack':
        return this.putBack(job, workerId, missing ?? '');
      case 'poison':
        return this.poison(job, workerId);
      case 'run':
        break;
    }
    return null;
  }

  newExecution(job: ClaimedJob): JobExecution {
    return new JobExecution(job, this.factory);
  }

  /** Calls the handler. Rejects with whatever it throws; {@link succeed} and {@link fail} say what that makes of the job. */
  invoke(execution: JobExecution): Promise<void> {
    const { job } = execution;
    if (job.instanceId !== null) return this.steps.run(execution);
    const handler = this.registry.get(job.handler);
    // What is missing has been refused before.
    if (handler === undefined) return Promise.reject(new Error(missingHandler(job.handler)));
    return this.invocations.run(execution, handler);
  }

  /** How a job ends whose handler returned. */
  succeed(execution: JobExecution, workerId: string): JobTransition {
    return this.withAdvance(execution.job, succeeded(execution.job, workerId, execution.followUps));
  }

  /** How a job ends whose handler threw. */
  fail(execution: JobExecution, error: unknown, workerId: string): JobTransition {
    const { job, abortReason } = execution;
    const shutdown = abortReason instanceof JobAbortedError && abortReason.abortCause === 'shutdown';
    if (shutdown && isAbort(error, abortReason)) return this.release(job, workerId, true);
    if (isThrown(error, SnoozeError)) {
      return this.withAdvance(job, snoozed(job, workerId, error.delay, this.options.clock.now()));
    }
    const transition = this.failure(job, error, workerId);
    const what = `Job ${job.id} (${job.handler}) failed at attempt ${job.attempt}`;
    if (transition.target === 'Dead') this.logger.warn(`${what} and is dead: no attempt is left, or none can help.`);
    else this.logger.debug(`${what} and is tried again.`);
    return this.withAdvance(job, transition);
  }

  cancel(job: ClaimedJob, workerId: string): JobTransition {
    return this.withAdvance(job, cancelled(job, workerId));
  }

  release(job: ClaimedJob, workerId: string, started: boolean): JobTransition {
    return this.withAdvance(job, released(job, workerId, started));
  }

  /**
   * How a job ends whose end the store refused to take: as a failure; Dead when it refuses that, too; and if it refuses
   * even that, Dead without moving its instance, since a job that nothing can end would be tried for ever.
   */
  rejected(job: ClaimedJob, error: unknown, workerId: string, times: number): JobTransition {
    const text = failureText(error);
    if (times === 1) return this.withAdvance(job, failed(job, workerId, text, this.options.clock.now()));
    const end = dead(job, workerId, text);
    return times === 2 ? this.withAdvance(job, end) : end;
  }

  private failure(job: ClaimedJob, error: unknown, workerId: string): JobTransition {
    const text = failureText(error);
    if (!this.mayRetry(job, error)) return dead(job, workerId, text);
    const retryAfter = isThrown(error, RetryAfterError) ? error.delay : undefined;
    return failed(job, workerId, text, this.options.clock.now(), retryAfter);
  }

  /** What the error itself says comes first, then the handler's `retryIf`. One that throws decides nothing. */
  private mayRetry(job: ClaimedJob, error: unknown): boolean {
    if (isThrown(error, UnrecoverableJobError)) return false;
    const retryIf = this.registry.get(job.handler)?.metadata.retryIf;
    if (retryIf === undefined || isThrown(error, RetryAfterError)) return true;
    try {
      return retryIf(error);
    } catch (thrown) {
      this.logger.error(`retryIf of ${job.handler} threw, so its job ${job.id} is retried: ${failureText(thrown)}`);
      return true;
    }
  }

  private missing(job: ClaimedJob): string | null {
    if (job.instanceId === null)
      return this.registry.get(job.handler) === undefined ? missingHandler(job.handler) : null;
    return this.steps.missing(job);
  }

  private poison(job: ClaimedJob, workerId: string): JobTransition {
    this.logger.error(`Job ${job.id} (${job.handler}) is poisoned: ${job.interruptions} of its executions vanished.`);
    return this.withAdvance(job, poisoned(job, workerId, this.options.interruptionLimit));
  }

  private putBack(job: ClaimedJob, workerId: string, missing: string): JobTransition {
    if (!this.reportedMissing.has(missing)) {
      this.reportedMissing.add(missing);
      this.logger.warn(`${missing} Its jobs are put back for a node that can run them; the first is ${job.id}.`);
    }
    return putBack(job, workerId, missing, this.options.clock.now());
  }

  private withAdvance(job: ClaimedJob, transition: JobTransition): JobTransition {
    if (job.instanceId === null) return transition;
    return { ...transition, advance: this.steps.advance(job, transition) };
  }
}

/** Whatever was thrown: looking at it must not throw in its turn. */
function isThrown<T extends Error>(error: unknown, type: abstract new (...args: never[]) => T): error is T {
  try {
    return error instanceof type;
  } catch {
    return false;
  }
}
