import { setImmediate } from 'node:timers/promises';
import type { ClaimedJob } from '../model/job';
import type { Milliseconds } from '../model/time';
import type { PutBacks } from './put-backs';
import { isSuspect } from './running-jobs';
import { WakeLatch } from './wake-latch';
import type { WorkerContext } from './worker-context';

/** Between two looks at whether another node has taken what comes to it first. */
const LOOK_INTERVAL: Milliseconds = 20;

/** The pool that a claim loop claims for. */
export interface ClaimingPool {
  /** Signalled when there may be room for more. */
  readonly room: WakeLatch;

  /** How many jobs to claim now; 0 while there is enough to do. */
  wanted(): number;

  /** How much argument text they may bring, in UTF-16 units. */
  payloadRoom(): number;

  /** Keeps the next free slot for a suspect. True once it is free; never while a suspect runs. */
  reserveForSuspect(): boolean;

  claimStarted(): void;

  /** Reads what running them needs. When it fails nothing of them runs, and a renewal gives them back. */
  load(jobs: readonly ClaimedJob[]): Promise<void>;

  /**
   * Always follows {@link claimStarted}. Starts what was claimed; what a claim for suspects reserved is free again.
   *
   * @param full there may be more to claim: the next claim is to be on its way before these start
   */
  claimEnded(jobs: readonly ClaimedJob[], suspects: boolean, full: boolean): void;
}

/**
 * Claims jobs whenever there is room and reason: after a claim that found some, after a wake-up, or when somebody has
 * looked and found something. Otherwise it sleeps and costs nothing.
 */
export class ClaimLoop {
  /** Also claim what other nodes have let expire. Set when a probe has seen such jobs. */
  expired = false;
  /** Also claim suspects. Set when a probe has seen some. */
  suspects = false;
  /** Claims nothing while it is true. */
  refused = false;
  private readonly pause = new WakeLatch();
  private pollDelay: Milliseconds;
  private more = false;
  private owesRenewal = false;
  private stopping = false;
  private ended: Promise<void> = Promise.resolve();

  /**
   * @param work signalled when there may be work
   * @param pushed whether the store signals `work` by itself; without that, the loop looks at growing intervals
   * @param renew asks the store what this worker owns; false when it could not be reached
   */
  constructor(
    private readonly context: WorkerContext,
    private readonly pool: ClaimingPool,
    private readonly work: WakeLatch,
    private readonly pushed: boolean,
    private readonly putBacks: PutBacks,
    private readonly renew: () => Promise<boolean>,
  ) {
    this.pollDelay = context.options.minPollDelay;
  }

  start(): void {
    this.ended = this.run();
  }

  /** Resolves when the claim that was under way has ended, and no other will begin. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const latch of [this.work, this.pool.room, this.pause]) latch.signal();
    await this.ended;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.step();
      } catch (error) {
        this.context.outages.failed('claim', error);
        // It may have claimed all the same: the store is asked before anything else is claimed.
        this.owesRenewal = true;
        this.more = true;
      }
    }
  }

  private async step(): Promise<void> {
    if (this.owesRenewal) {
      this.owesRenewal = !(await this.renew());
      await this.pause.wait(this.pollDelay);
    } else if (this.refused) {
      await this.work.wait();
    } else if (!this.more && !this.work.take()) {
      this.more = await this.waitForWork();
    } else {
      await this.claimIfWanted();
    }
  }

  private async claimIfWanted(): Promise<void> {
    while (!this.stopping && (await this.putBacks.claimsWait())) await this.pause.wait(LOOK_INTERVAL);
    if (this.stopping) return;
    const suspects = this.suspects && this.pool.reserveForSuspect();
    const limit = Math.max(this.pool.wanted(), suspects ? 1 : 0);
    this.more = true;
    if (limit === 0) {
      await this.pool.room.wait();
      return;
    }
    this.work.take(); // this claim answers it; a signal that comes from here on is for the next
    const jobs = await this.claim(limit, suspects);
    this.more = jobs.length > 0;
    if (jobs.length < limit) this.expired = false;
    if (suspects && !jobs.some((job) => isSuspect(job))) this.suspects = false;
    if (!this.more) return;
    this.pollDelay = this.context.options.minPollDelay;
    // A store that answers without input or output would keep timers and sockets waiting while jobs come in.
    if (jobs.length < limit) await setImmediate();
  }

  private async claim(limit: number, suspects: boolean): Promise<readonly ClaimedJob[]> {
    const { storage, id, options, outages } = this.context;
    let jobs: readonly ClaimedJob[] = [];
    this.pool.claimStarted();
    try {
      const claimed = await storage.claim({
        workerId: id,
        queues: options.queues,
        limit,
        leaseDuration: options.leaseDuration,
        maxPayload: this.pool.payloadRoom(),
        expired: this.expired || suspects,
        suspects,
      });
      await this.pool.load(claimed);
      jobs = claimed;
      outages.answered();
    } finally {
      this.pool.claimEnded(jobs, suspects, jobs.length === limit);
    }
    return jobs;
  }

  private async waitForWork(): Promise<boolean> {
    if (this.pushed) return this.work.wait();
    if (await this.work.wait(this.pollDelay)) return true;
    this.pollDelay = Math.min(2 * this.pollDelay, this.context.options.maxPollDelay);
    try {
      return await this.context.storage.hasClaimable(this.context.options.queues);
    } catch (error) {
      this.context.outages.failed('hasClaimable', error);
      return false;
    }
  }
}
