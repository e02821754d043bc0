import type { ClaimedJob } from '../model/job';
import type { ClaimRef, JobTransition, TransitionResult } from '../model/job-transition';
import type { ClaimingPool } from './claim-loop';
import { ClaimSize, type HeldWork, payloadRoom } from './claim-size';
import { GroupCommit } from './group-commit';
import type { HeartbeatListener } from './heartbeat';
import type { JobRunner } from './job-runner';
import type { PutBacks } from './put-backs';
import { HeldJob, isSuspect, RunningJobs } from './running-jobs';
import { WakeLatch } from './wake-latch';
import { WorkTurn } from './work-turn';
import type { WorkerContext } from './worker-context';
import { type AbortCause, JobAbortedError } from './worker.errors';

const MOST_REJECTIONS = 4;
const MOST_BLOCKING = 10;

/**
 * Runs what was claimed in a bounded number of slots, and hands each end to the group commit. A slot is a loop over jobs:
 * a handler that ends frees it at once, whatever becomes of its transition.
 */
export class WorkerPool implements ClaimingPool, HeartbeatListener, HeldWork {
  readonly jobs = new RunningJobs();
  readonly room = new WakeLatch();
  readonly commit: GroupCommit<HeldJob>;
  /** Called when a suspect has ended and the store has acknowledged it: the next one may be claimed. */
  suspectEnded: () => void = () => undefined;
  /** Whether the event loop has been blocked until now. */
  blocked: () => boolean = () => false;
  private endedBlocked: HeldJob[] = [];
  private readonly size: ClaimSize;
  private readonly turn = new WorkTurn(() => this.fillSlots());
  private suspectRuns = false;
  private reserved = false;
  private draining = false;
  private readonly idleWaiters: (() => void)[] = [];

  constructor(
    private readonly context: WorkerContext,
    private readonly runner: JobRunner,
    private readonly putBacks: PutBacks,
  ) {
    this.size = new ClaimSize(context.options);
    this.commit = new GroupCommit(
      context.storage,
      context.outages,
      context.options.claimBatchSize,
      (held, transition, result) => this.settled(held, transition, result),
    );
  }

  get unfinished(): number {
    return this.jobs.unfinished;
  }

  get waitingPayload(): number {
    return this.jobs.waitingPayload;
  }

  get unacknowledged(): number {
    return this.commit.size;
  }

  get runsSuspect(): boolean {
    return this.suspectRuns;
  }

  wanted(): number {
    return this.size.next(this, performance.now());
  }

  payloadRoom(): number {
    return payloadRoom(this);
  }

  reserveForSuspect(): boolean {
    if (this.suspectRuns) return false;
    this.reserved = true;
    return this.jobs.slotsInUse < this.context.options.maxParallelism;
  }

  claimStarted(): void {
    this.jobs.claimStarted();
  }

  load(jobs: readonly ClaimedJob[]): Promise<void> {
    return this.runner.load(jobs);
  }

  claimEnded(jobs: readonly ClaimedJob[], suspects: boolean, full: boolean): void {
    this.jobs.claimEnded();
    if (suspects) this.reserved = false;
    const claimedAt = performance.now();
    for (const job of jobs) this.take(new HeldJob(job, claimedAt));
    if (full) this.turn.wait();
    else this.turn.begin();
    this.fillSlots();
  }

  /** Gives back what waits for a slot: all of it, or what `which` picks. */
  releaseWaiting(which: (held: HeldJob) => boolean = () => true): void {
    for (const held of this.jobs.inPhase('waiting')) if (which(held)) this.release(held, false);
  }

  /** From now on nothing starts, and what is claimed all the same is given back. */
  drain(): void {
    this.draining = true;
    this.releaseWaiting();
  }

  /** Resolves once no handler runs and the store has acknowledged every end. */
  async whenIdle(): Promise<void> {
    if (this.jobs.slotsInUse > 0) await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
    await this.commit.whenIdle();
  }

  /** Asks every running handler to stop. */
  abortRunning(cause: AbortCause): void {
    for (const held of this.jobs.inPhase('running')) this.abort(held, cause);
  }

  /** Gives back what still runs; its outcome, should it come, no longer counts. */
  releaseRunning(): void {
    for (const held of this.jobs.inPhase('running')) this.release(held, true);
  }

  lost(held: HeldJob): void {
    this.context.logger.warn(`The lease of job ${held.job.id} (${held.job.handler}) was lost; its outcome is dropped.`);
    this.noteIfBlocked(held); // a store that answers at once tells of the loss before the stall is looked at
    this.abort(held, 'leaseLost');
    this.jobs.leave(held);
    this.freeSuspect(held);
    this.fillSlots();
  }

  cancelRequested(held: HeldJob): void {
    this.abort(held, 'cancelled');
    this.end(held, this.runner.cancel(held.job, this.context.id));
  }

  unlisted(claims: readonly ClaimRef[]): void {
    void this.releaseUnlisted(claims);
  }

  /** Jobs that blocked the event loop, or ran behind one that did, and have ended since the last call. */
  takeEndedBlocked(): HeldJob[] {
    return this.endedBlocked.splice(0);
  }

  private take(held: HeldJob): void {
    const { job } = held;
    const older = this.jobs.hold(held);
    if (older !== undefined) {
      this.abort(older, 'superseded');
      this.freeSuspect(older);
    }
    if (this.draining) return this.release(held, false);
    const refusal = this.runner.refuse(job, this.context.id);
    if (refusal !== null) {
      if (refusal.dueAt !== null) this.putBacks.add(job.id, refusal.dueAt);
      return this.end(held, refusal);
    }
    if (!isSuspect(job)) return this.jobs.enqueue(held);
    if (this.suspectRuns) return this.release(held, false);
    this.suspectRuns = true;
    held.phase = 'running';
    void this.runSlot(held);
  }

  private fillSlots(): void {
    for (let held = this.takeWaiting(); held !== undefined; held = this.takeWaiting()) void this.runSlot(held);
  }

  private takeWaiting(): HeldJob | undefined {
    if (this.jobs.waiting === 0 || !this.hasFreeSlot() || this.turn.isOver) return undefined;
    return this.jobs.takeWaiting();
  }

  private hasFreeSlot(): boolean {
    return this.jobs.slotsInUse < this.context.options.maxParallelism - (this.reserved ? 1 : 0);
  }

  /** One slot: runs jobs until none waits, or until the turn is over. */
  private async runSlot(first: HeldJob): Promise<void> {
    const { runner, jobs, context } = this;
    jobs.slotsInUse++;
    for (let held: HeldJob | undefined = first; held !== undefined;) {
      const execution = runner.newExecution(held.job);
      held.execution = execution;
      let transition: JobTransition;
      try {
        await runner.invoke(execution);
        transition = runner.succeed(execution, context.id);
      } catch (error) {
        transition = runner.fail(execution, error, context.id);
      }
      jobs.slotsInUse--;
      this.handlerEnded(held, transition);
      held = this.takeWaiting();
      if (held !== undefined) jobs.slotsInUse++;
      if (this.reserved || this.size.hasRoom(this)) this.room.signal();
    }
    if (jobs.slotsInUse > 0) return;
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private handlerEnded(held: HeldJob, transition: JobTransition): void {
    this.size.jobEnded();
    this.noteIfBlocked(held);
    held.handlerEnded = true;
    this.freeSuspect(held);
    // Otherwise its end was decided meanwhile: it was cancelled, lost, claimed anew, or given back.
    if (held.phase === 'running') this.end(held, transition);
  }

  /** A stall is reported with what it was about, also where that is held no more by then. */
  private noteIfBlocked(held: HeldJob): void {
    if (this.blocked() && this.endedBlocked.length < MOST_BLOCKING) this.endedBlocked.push(held);
  }

  private end(held: HeldJob, transition: JobTransition): void {
    this.jobs.markEnding(held);
    this.commit.add(held, transition);
  }

  private release(held: HeldJob, started: boolean): void {
    this.end(held, this.runner.release(held.job, this.context.id, started));
  }

  private abort(held: HeldJob, cause: AbortCause): void {
    held.execution?.abort(new JobAbortedError(held.job.id, cause));
  }

  private settled(held: HeldJob, transition: JobTransition, result: TransitionResult | null): void {
    const { logger, id } = this.context;
    if (result?.outcome === 'rejected' && ++held.rejections < MOST_REJECTIONS) {
      logger.error(`The store cannot take job ${held.job.id} as ${transition.target}; that becomes its failure.`);
      this.commit.add(held, this.runner.rejected(held.job, result.error, id, held.rejections));
      return;
    }
    if (result?.outcome === 'rejected') logger.error(`The store cannot take any end of job ${held.job.id}.`);
    if (result?.outcome === 'fenced') {
      logger.debug(
        `Job ${transition.id} is not ours at attempt ${transition.attempt}; ${transition.target} is dropped.`,
      );
    }
    this.jobs.leave(held);
    this.freeSuspect(held);
    this.room.signal();
  }

  /**
   * Lets the next suspect run once nothing of this one is open any more. Not before its end is acknowledged: the next one
   * may end this process, and a success that was not stored by then would count as one more interruption of a good job.
   */
  private freeSuspect(held: HeldJob): void {
    if (!isSuspect(held.job) || !held.handlerEnded || held.phase !== 'gone') return;
    this.suspectRuns = false;
    this.suspectEnded();
  }

  /** Only their ids are known: what else a transition needs is read, and the fence decides whether they still are ours. */
  private async releaseUnlisted(claims: readonly ClaimRef[]): Promise<void> {
    const { storage, id, outages, logger } = this.context;
    try {
      for (const claim of claims) {
        const job = await storage.getJob(claim.id);
        const ours = job !== null && job.workerId === id && job.attempt === claim.attempt;
        if (!ours || this.jobs.findById(claim.id) !== undefined) continue;
        logger.warn(`Job ${claim.id} was claimed by a call whose answer was lost; it is given back.`);
        const held = new HeldJob(job, performance.now());
        this.jobs.hold(held);
        this.release(held, false);
      }
    } catch (error) {
      outages.failed('getJob', error);
    }
  }
}
