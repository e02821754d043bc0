import { Inject, Injectable } from '@nestjs/common';
import { MILLRACE_STORAGE } from '../millrace.module-definition';
import type { JobId } from '../model/ids';
import { JobState } from '../model/job-state';
import { type Milliseconds, SECOND } from '../model/time';
import type { Probe } from '../storage/job-storage';
import type { Storage } from '../storage/storage';
import type { StorageSignal } from '../storage/storage-notifier';
import { ApplicationLifecycle, type LifecycleParticipant } from './application-lifecycle';
import { ClaimLoop } from './claim-loop';
import { within } from './deadline';
import { Heartbeat } from './heartbeat';
import { JobRunner } from './job-runner';
import { NodeReporter } from './node-reporter';
import { ProbeLoop } from './probe-loop';
import { PutBacks } from './put-backs';
import type { HeldJob } from './running-jobs';
import { StallWatch } from './stall-watch';
import { WakeLatch } from './wake-latch';
import { WorkerContext } from './worker-context';
import { WorkerPool } from './worker-pool';

/** What was claimed ahead and has not started by then goes back: the jobs before it take longer than was expected. */
const LONGEST_WAIT: Milliseconds = SECOND;
/** How long a shutdown waits, at its very end, for the store to acknowledge what was given back. */
const LAST_COMMIT: Milliseconds = SECOND;
const NAMED_JOBS = 10;

/** The worker of a node: starts once the application is up, and stops in two phases before it goes down. */
@Injectable()
export class WorkerService implements LifecycleParticipant {
  private readonly pool: WorkerPool;
  private readonly heartbeat: Heartbeat;
  private readonly claims: ClaimLoop;
  private readonly stalls: StallWatch;
  private started = false;
  private stopping = false;
  private unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(WorkerContext) private readonly context: WorkerContext,
    @Inject(JobRunner) runner: JobRunner,
    @Inject(PutBacks) putBacks: PutBacks,
    @Inject(WakeLatch) private readonly work: WakeLatch,
    @Inject(ProbeLoop) private readonly probes: ProbeLoop,
    @Inject(NodeReporter) private readonly reporter: NodeReporter,
    @Inject(MILLRACE_STORAGE) private readonly store: Pick<Storage, 'getInfo'>,
    @Inject(ApplicationLifecycle) lifecycle: ApplicationLifecycle,
  ) {
    const { options, outages, notifier } = context;
    this.pool = new WorkerPool(context, runner, putBacks);
    this.heartbeat = new Heartbeat(context.storage, context.id, this.pool.jobs, options, this.pool, outages);
    this.claims = new ClaimLoop(context, this.pool, work, notifier !== null, putBacks, () => this.heartbeat.renew());
    this.stalls = new StallWatch(options.leaseDuration / 3, (length) => this.reportStall(length));
    this.pool.blocked = () => this.stalls.blocked;
    this.pool.suspectEnded = () => this.lookForSuspects();
    reporter.running = () => this.pool.jobs.slotsInUse;
    lifecycle.join(this);
  }

  start(): void {
    const { workerEnabled, schedulerEnabled } = this.context.options;
    if (workerEnabled) {
      this.started = true;
      this.unsubscribe = this.context.notifier?.subscribe((signal) => this.receive(signal)) ?? this.unsubscribe;
      this.probes.subscribe((probe) => this.react(probe));
      this.heartbeat.start();
      this.stalls.start();
      this.claims.start();
      void this.announce();
    }
    if (workerEnabled || schedulerEnabled) this.probes.start();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.unsubscribe();
    const claimsEnded = this.claims.stop();
    const probesEnded = this.probes.stop();
    if (this.started) await this.drain(claimsEnded);
    await probesEnded;
    await this.reporter.remove();
  }

  /** Says what this worker does, for whoever reads the log later. */
  private async announce(): Promise<void> {
    const { id, options, logger } = this.context;
    const { maxParallelism, queues, storage } = options;
    const version = await this.store.getInfo().then(
      ({ serverVersion }) => ` (${serverVersion})`,
      () => '', // whatever is wrong, the worker meets it as well
    );
    if (this.stopping) return;
    logger.log(
      `Worker ${id} runs up to ${maxParallelism} jobs at a time from the queue${queues.length > 1 ? 's' : ''} ` +
        `${queues.join(', ')}; store: ${storage.provider}${version}.`,
    );
  }

  private async drain(claimsEnded: Promise<void>): Promise<void> {
    const { options, logger } = this.context;
    const drainUntil = performance.now() + options.shutdownTimeout;
    this.pool.drain();
    await within(claimsEnded, options.shutdownTimeout);
    if (!(await within(this.pool.whenIdle(), drainUntil - performance.now()))) {
      logger.warn(`Shutdown: aborting what still runs after ${options.shutdownTimeout} ms: ${this.runningJobs()}.`);
      this.pool.abortRunning('shutdown');
      if (!(await within(this.pool.whenIdle(), options.shutdownGrace))) {
        this.pool.releaseRunning();
        await within(this.pool.commit.whenIdle(), LAST_COMMIT);
      }
    }
    this.heartbeat.stop();
    this.stalls.stop();
    this.pool.commit.abandon();
  }

  private react(probe: Probe): void {
    this.refuse(probe.schemaTooNew);
    const paused = new Set(probe.pausedQueues);
    const claimedBefore = performance.now() - LONGEST_WAIT;
    this.pool.releaseWaiting((held) => paused.has(held.job.queue) || held.claimedAt < claimedBefore);
    this.claims.expired ||= probe.expired;
    this.claims.suspects ||= probe.suspects;
    if (probe.claimable || probe.expired || (probe.suspects && !this.pool.runsSuspect)) this.work.signal();
  }

  private refuse(schemaTooNew: boolean): void {
    if (schemaTooNew === this.claims.refused) return;
    this.claims.refused = schemaTooNew;
    if (schemaTooNew) {
      this.context.logger.error(
        'The database schema has become too new for this node, which claims no more jobs: deploy it anew.',
      );
    } else {
      this.context.logger.log('The database schema fits this node again, which claims jobs.');
      this.work.signal();
    }
  }

  private receive(signal: StorageSignal): void {
    switch (signal.kind) {
      case 'ready':
        if (this.context.options.queues.includes(signal.queue)) this.work.signal();
        break;
      case 'cancel':
        void this.checkCancel(signal.id);
        break;
      case 'reconnected':
        this.work.signal();
        void this.heartbeat.renew();
        break;
    }
  }

  private async checkCancel(id: JobId): Promise<void> {
    const held = this.pool.jobs.findById(id);
    if (held === undefined || !held.undecided) return;
    try {
      const job = await this.context.storage.getJob(id);
      const ours = job?.state === JobState.Processing && job.workerId === this.context.id;
      if (!ours || !job.cancelRequested || job.attempt !== held.job.attempt || !held.undecided) return;
      this.pool.cancelRequested(held);
    } catch (error) {
      this.context.outages.failed('getJob', error); // the next renewal tells it, too
    }
  }

  private lookForSuspects(): void {
    this.claims.suspects = true;
    this.work.signal();
  }

  private reportStall(length: Milliseconds): void {
    const ended = this.pool.takeEndedBlocked();
    if (ended.length === 0 && this.pool.jobs.size === 0) return;
    this.context.logger.warn(
      `The event loop was blocked for ${(length / SECOND).toFixed(1)} s, while leases of ` +
        `${this.context.options.leaseDuration / SECOND} s could not be renewed. It ran ${this.runningJobs(ended)}. ` +
        'Move work that computes for so long to a worker thread.',
    );
    void this.heartbeat.renew();
  }

  private runningJobs(ended: readonly HeldJob[] = []): string {
    const jobs = [...new Set([...ended, ...this.pool.jobs.inPhase('running')])];
    const named = jobs.slice(0, NAMED_JOBS).map(({ job }) => `${job.handler} (${job.id})`);
    if (jobs.length > named.length) named.push(`${jobs.length - named.length} more`);
    return named.join(', ') || 'no job';
  }
}
