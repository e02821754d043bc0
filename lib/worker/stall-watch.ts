import type { Milliseconds } from '../model/time';

/**
 * Notices that the event loop was blocked: while it is, no lease is renewed and no other node knows that this one lives.
 */
export class StallWatch {
  private timer: NodeJS.Timeout | null = null;
  private expectedAt = 0;
  private readonly interval: Milliseconds;

  /**
   * @param threshold the shortest stall that is told
   * @param stalled called with the length of a stall once it is over
   */
  constructor(
    private readonly threshold: Milliseconds,
    private readonly stalled: (length: Milliseconds) => void,
  ) {
    this.interval = Math.max(1, threshold / 4);
  }

  start(): void {
    this.expectedAt = performance.now() + this.interval;
    this.timer = setInterval(() => this.look(), this.interval);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** Whether the loop has been blocked until now: what ends at this moment is what blocked it, or waited behind it. */
  get blocked(): boolean {
    return this.timer !== null && performance.now() - this.expectedAt > this.threshold;
  }

  private look(): void {
    const now = performance.now();
    const length = now - this.expectedAt;
    this.expectedAt = now + this.interval;
    if (length > this.threshold) this.stalled(length);
  }
}
