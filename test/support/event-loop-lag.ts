const INTERVAL = 2;

/** Measures for how long the event loop of this process has been blocked at the most, in milliseconds. */
export class EventLoopLag implements Disposable {
  longest = 0;
  private expectedAt = performance.now() + INTERVAL;
  private readonly timer = setInterval(() => this.look(), INTERVAL);

  [Symbol.dispose](): void {
    this.look();
    clearInterval(this.timer);
  }

  private look(): void {
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.expectedAt);
    this.expectedAt = now + INTERVAL;
  }
}
