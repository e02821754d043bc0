import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob } from '../model/job';
import type { JobTransition } from '../model/job-transition';
import type { Milliseconds } from '../model/time';
import type { IMonitoringStorage } from '../storage/monitoring-storage';
import type { JobRunner } from '../worker/job-runner';
import type { WorkerContext } from '../worker/worker-context';
import { JobAbortedError } from '../worker/worker.errors';

const HELD_PAUSE: Milliseconds = 20;
const MOST_REJECTIONS = 3;

/** How one execution ended. */
export interface Step {
  readonly job: ClaimedJob;
  readonly transition: JobTransition;
  /** What the handler threw, or why the store could not take its end. */
  readonly error: unknown;
}

/** Claims and runs one job at a time, so that whatever becomes of it, no other is left claimed. */
export class JobStepper {
  private readonly queues: Set<string>;

  constructor(
    private readonly context: WorkerContext,
    private readonly runner: JobRunner,
    private readonly monitoring: IMonitoringStorage,
  ) {
    this.queues = new Set([...context.options.queues, context.options.workflowQueue]);
  }

  /** Runs the next claimable job of any queue to its end. Null when there is none. */
  async step(): Promise<Step | null> {
    const job = (await this.claim()) ?? ((await this.findQueues()) ? await this.claim() : undefined);
    if (job === undefined) return null;
    const refusal = this.runner.refuse(job, this.context.id);
    return refusal === null ? this.run(job) : this.apply({ job, transition: refusal, error: undefined });
  }

  /** Whether there are jobs on queues that were not known before. A statement that reads a lot, so it is not asked every time. */
  async findQueues(): Promise<boolean> {
    const known = this.queues.size;
    const { enqueuedByQueue } = await this.monitoring.getStatistics();
    for (const queue of Object.keys(enqueuedByQueue)) this.queues.add(queue);
    return this.queues.size > known;
  }

  private async claim(): Promise<ClaimedJob | undefined> {
    const { storage, options, id } = this.context;
    const [job] = await storage.claim({
      workerId: id,
      queues: [...this.queues],
      limit: 1,
      leaseDuration: options.leaseDuration,
      maxPayload: Number.MAX_SAFE_INTEGER,
      expired: true,
      suspects: true,
    });
    if (job !== undefined) await this.runner.load([job]);
    return job;
  }

  private async run(job: ClaimedJob): Promise<Step> {
    const { runner } = this;
    const { id, notifier } = this.context;
    const execution = runner.newExecution(job);
    const unsubscribe = notifier?.subscribe((signal) => {
      if (signal.kind === 'cancel' && signal.id === job.id) execution.abort(new JobAbortedError(job.id, 'cancelled'));
    });
    let step: Step;
    try {
      await runner.invoke(execution);
      step = { job, transition: runner.succeed(execution, id), error: undefined };
    } catch (error) {
      step = { job, transition: runner.fail(execution, error, id), error };
    } finally {
      unsubscribe?.();
    }
    // A worker, too, cancels a running job as soon as it hears of it, and drops its outcome.
    if (execution.abortReason instanceof JobAbortedError)
      step = { job, transition: runner.cancel(job, id), error: undefined };
    return this.apply(step);
  }

  private async apply(step: Step): Promise<Step> {
    const [result] = await this.context.storage.apply([step.transition]);
    if (result?.outcome === 'held') {
      await sleep(HELD_PAUSE);
      return this.apply(step);
    }
    if (result?.outcome !== 'rejected') return step;
    let { error } = result;
    for (let times = 1; times <= MOST_REJECTIONS; times++) {
      const transition = this.runner.rejected(step.job, error, this.context.id, times);
      const [next] = await this.context.storage.apply([transition]);
      if (next?.outcome !== 'rejected') return { job: step.job, transition, error };
      ({ error } = next);
    }
    throw error;
  }
}
