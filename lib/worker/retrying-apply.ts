import type { JobTransition, TransitionResult } from '../model/job-transition';
import type { Milliseconds } from '../model/time';
import type { IJobStorage } from '../storage/job-storage';
import type { OutageLog } from './outage-log';
import { WakeLatch } from './wake-latch';

const FIRST_PAUSE: Milliseconds = 20;
const LONGEST_PAUSE: Milliseconds = 1000;

/**
 * Applies transitions, and keeps trying while the store cannot be reached: work that was done is never reported as
 * failed for want of a connection. Sending the same call again is safe, since a transition that had been applied before
 * its answer was lost is found so.
 */
export class RetryingApply {
  private abandoned = false;
  private readonly pause = new WakeLatch();

  constructor(
    private readonly storage: Pick<IJobStorage, 'apply'>,
    private readonly outages: OutageLog,
  ) {}

  /** Returns null when it was abandoned before the store answered. */
  async apply(transitions: readonly JobTransition[]): Promise<TransitionResult[] | null> {
    for (let pause = FIRST_PAUSE; !this.abandoned; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        const results = await this.storage.apply(transitions);
        this.outages.answered();
        return results;
      } catch (error) {
        this.outages.failed('apply', error);
      }
      await this.pause.wait(pause);
    }
    return null;
  }

  /** Stops trying: for the end of a shutdown, when leases are what brings the jobs back. */
  abandon(): void {
    this.abandoned = true;
    this.pause.signal();
  }
}
