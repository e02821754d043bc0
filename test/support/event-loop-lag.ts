const INTERVAL = 2;

/** Measures for how long the event loop of this process has been blocked at the most, in milliseconds. */
export class EventLoopLag implements Disposable {
  private worst = 0;
  private expectedAt = performance.now() + INTERVAL;
  private readonly timer = setInterval(() => this.look(), INTERVAL);

  /** Up to now: what blocks it at this moment counts as well. */
  get longest(): number {
    this.look();
    return this.worst;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const now = performance.now();
    this.worst = Math.max(this.worst, now - this.expectedAt);
    this.expectedAt = now + INTERVAL;
  }
}
