import { cpuTime } from './cpu-time';

const INTERVAL = 2;

/** Measures how long this process has computed at a stretch, at the most, before its timers had their turn. */
export class EventLoopLag implements Disposable {
  private worst = 0;
  private lookedAt = cpuTime();
  private readonly timer = setInterval(() => this.look(), INTERVAL);

  /** In milliseconds of computing, up to now: what blocks the event loop at this moment counts as well. */
  get longest(): number {
    this.look();
    return this.worst;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const now = cpuTime();
    this.worst = Math.max(this.worst, now - this.lookedAt);
    this.lookedAt = now;
  }
}
