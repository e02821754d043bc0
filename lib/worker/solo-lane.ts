import type { JobTransition, TransitionResult } from '../model/job-transition';
import type { Milliseconds } from '../model/time';
import type { RetryingApply } from './retrying-apply';
import { WakeLatch } from './wake-latch';

const FIRST_BACKOFF: Milliseconds = 20;
const LONGEST_BACKOFF: Milliseconds = 1000;

interface SoloTransition<Owner> {
  readonly owner: Owner;
  readonly transition: JobTransition;
  backoff: Milliseconds;
  notBefore: Milliseconds;
}

/**
 * Transitions that are applied one by one: those that met a row which somebody's transaction holds, sent again with a
 * growing pause, and those that may have to wait for a lock. One call at a time, so they take one connection at most and
 * hold up nobody else.
 */
export class SoloLane<Owner> {
  private readonly waiting: SoloTransition<Owner>[] = [];
  private readonly arrived = new WakeLatch();
  private running = false;
  private abandoned = false;

  constructor(
    private readonly lane: RetryingApply,
    private readonly settled: (owner: Owner, transition: JobTransition, result: TransitionResult | null) => void,
  ) {}

  /** @param held true when it was tried and met a held row: it waits before its next try */
  add(owner: Owner, transition: JobTransition, held: boolean): void {
    const notBefore = held ? performance.now() + FIRST_BACKOFF : 0;
    this.waiting.push({ owner, transition, backoff: FIRST_BACKOFF, notBefore });
    if (this.running) {
      this.arrived.signal();
    } else {
      this.running = true;
      void this.run();
    }
  }

  /** Gives up what still waits. */
  abandon(): void {
    this.abandoned = true;
    this.lane.abandon();
    this.arrived.signal();
  }

  private async run(): Promise<void> {
    for (let next = this.earliest(); next !== undefined; next = this.earliest()) {
      const pause = next.notBefore - performance.now();
      if (pause > 0 && !this.abandoned) {
        await this.arrived.wait(pause);
        continue;
      }
      this.waiting.splice(this.waiting.indexOf(next), 1);
      const result = this.abandoned ? null : ((await this.lane.apply([next.transition]))?.[0] ?? null);
      if (result?.outcome === 'held') {
        next.backoff = Math.min(2 * next.backoff, LONGEST_BACKOFF);
        next.notBefore = performance.now() + next.backoff;
        this.waiting.push(next);
      } else {
        this.settled(next.owner, next.transition, result);
      }
    }
    this.running = false;
  }

  private earliest(): SoloTransition<Owner> | undefined {
    let earliest = this.waiting[0];
    for (const candidate of this.waiting) {
      if (earliest !== undefined && candidate.notBefore < earliest.notBefore) earliest = candidate;
    }
    return earliest;
  }
}
