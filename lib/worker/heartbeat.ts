import type { ClaimRef } from '../model/job-transition';
import type { Milliseconds } from '../model/time';
import type { IJobStorage } from '../storage/job-storage';
import type { OutageLog } from './outage-log';
import type { HeldJob, RunningJobs } from './running-jobs';

/** What a renewal brings to light. */
export interface HeartbeatListener {
  /** Another node may run it already. */
  lost(held: HeldJob): void;
  cancelRequested(held: HeldJob): void;
  /** Claimed in this worker's name by a claim whose answer never came. */
  unlisted(claims: readonly ClaimRef[]): void;
}

export interface HeartbeatOptions {
  readonly leaseDuration: Milliseconds;
  readonly heartbeatInterval: Milliseconds;
}

/** Keeps the leases of everything this node holds, in one call per beat. */
export class Heartbeat {
  private timer: NodeJS.Timeout | null = null;
  private beating = false;
  private last: Promise<boolean> = Promise.resolve(true);

  constructor(
    private readonly storage: Pick<IJobStorage, 'renew'>,
    private readonly workerId: string,
    private readonly jobs: RunningJobs,
    private readonly options: HeartbeatOptions,
    private readonly listener: HeartbeatListener,
    private readonly outages: OutageLog,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.beat(), this.options.heartbeatInterval);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /**
   * Renews at once, also when nothing is held: the store then tells what a claim has taken without our knowing.
   *
   * @returns false when the store could not be reached; every job runs on and the next beat asks again
   */
  renew(): Promise<boolean> {
    this.last = this.last.then(() => this.renewNow());
    return this.last;
  }

  private async beat(): Promise<void> {
    if (this.beating || this.jobs.size === 0) return;
    this.beating = true;
    await this.renew();
    this.beating = false;
  }

  private async renewNow(): Promise<boolean> {
    const { jobs, listener } = this;
    const claims = jobs.claims();
    const epoch = jobs.claimEpoch;
    try {
      const { answers, unlisted } = await this.storage.renew(this.workerId, claims, this.options.leaseDuration);
      this.outages.answered();
      for (const [index, claim] of claims.entries()) {
        const held = jobs.find(claim);
        // Its end is on the way, and the store decides there whether it still is ours.
        if (held === undefined || !held.undecided) continue;
        if (answers[index] === 'lost') listener.lost(held);
        else if (answers[index] === 'cancelRequested') listener.cancelRequested(held);
      }
      // A claim that was under way meanwhile may be what they are from.
      if (unlisted.length > 0 && epoch % 2 === 0 && epoch === jobs.claimEpoch) listener.unlisted(unlisted);
      return true;
    } catch (error) {
      this.outages.failed('renew', error);
      return false;
    }
  }
}
