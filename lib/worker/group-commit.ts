import type { JobTransition, TransitionResult } from '../model/job-transition';
import type { IJobStorage } from '../storage/job-storage';
import type { OutageLog } from './outage-log';
import { RetryingApply } from './retrying-apply';
import { SoloLane } from './solo-lane';

/** Called with what became of a transition; null when it was given up because the worker has to stop. */
export type Settled<Owner> = (owner: Owner, transition: JobTransition, result: TransitionResult | null) => void;

/**
 * Applies the transitions that wait together in one call. A flush starts the moment the previous one ends: an idle node
 * pays no delay, a busy one shares a commit among hundreds.
 */
export class GroupCommit<Owner> {
  private owners: Owner[] = [];
  private transitions: JobTransition[] = [];
  private flushing = false;
  private unacknowledged = 0;
  private readonly idleWaiters: (() => void)[] = [];
  private readonly lane: RetryingApply;
  private readonly solo: SoloLane<Owner>;

  /** @param limit transitions in one call, at most */
  constructor(
    storage: Pick<IJobStorage, 'apply'>,
    outages: OutageLog,
    private readonly limit: number,
    private readonly settled: Settled<Owner>,
  ) {
    this.lane = new RetryingApply(storage, outages);
    this.solo = new SoloLane(new RetryingApply(storage, outages), (owner, transition, result) =>
      this.settle(owner, transition, result),
    );
  }

  /** Transitions that were added and have not been settled. */
  get size(): number {
    return this.unacknowledged;
  }

  add(owner: Owner, transition: JobTransition): void {
    this.unacknowledged++;
    if (mayWaitForLock(transition)) {
      this.solo.add(owner, transition, false);
      return;
    }
    this.owners.push(owner);
    this.transitions.push(transition);
    if (this.flushing) return;
    this.flushing = true;
    // Handlers that end in one turn of the event loop end in one flush.
    setImmediate(() => void this.flush());
  }

  /** Resolves once nothing waits to be settled. */
  async whenIdle(): Promise<void> {
    if (this.unacknowledged > 0) await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  /** Gives up what the store has not answered; to be called last in a shutdown. */
  abandon(): void {
    this.lane.abandon();
    this.solo.abandon();
  }

  private async flush(): Promise<void> {
    while (this.transitions.length > 0) {
      const owners = this.owners.splice(0, this.limit);
      const transitions = this.transitions.splice(0, this.limit);
      const results = await this.lane.apply(transitions);
      for (let index = 0; index < transitions.length; index++) {
        const owner = owners[index] as Owner;
        const transition = transitions[index] as JobTransition;
        const result = results === null ? null : (results[index] ?? null);
        if (result?.outcome === 'held') this.solo.add(owner, transition, true);
        else this.settle(owner, transition, result);
      }
    }
    this.flushing = false;
  }

  private settle(owner: Owner, transition: JobTransition, result: TransitionResult | null): void {
    // First the callback: what it adds in answer keeps the commit from looking idle.
    this.settled(owner, transition, result);
    this.unacknowledged--;
    if (this.unacknowledged > 0) return;
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }
}

/** A job with a key or a parent may have to wait for somebody's transaction. */
function mayWaitForLock(transition: JobTransition): boolean {
  return transition.enqueue.some((job) => job.idempotencyKey !== null || job.parentId !== null);
}
