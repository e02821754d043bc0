import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { InvocationRunner } from '../jobs/invocation-runner';
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
    @Optional() @Inject(IWorkflowSteps) private readonly steps: IWorkflowSteps | null = null,
  ) {}

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
    if (job.instanceId !== null && this.steps !== null) return this.steps.run(execution).finally(() => execution.end());
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
    const transition = failed(job, workerId, failureText(error), this.options.clock.now());
    const what = `Job ${job.id} (${job.handler}) failed at attempt ${job.attempt}`;
    if (transition.target === 'Dead') this.logger.warn(`${what} and is dead: its retries are exhausted.`);
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

  private missing(job: ClaimedJob): string | null {
    if (job.instanceId === null)
      return this.registry.get(job.handler) === undefined ? missingHandler(job.handler) : null;
    return this.steps === null ? 'No workflow can run on the node that claimed this job.' : this.steps.missing(job);
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
    if (job.instanceId === null || this.steps === null) return transition;
    return { ...transition, advance: this.steps.advance(job, transition) };
  }
}
