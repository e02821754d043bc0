import type { Milliseconds } from '../model/time';

/** Long enough that few turns are needed, short enough that the store always has something to do meanwhile. */
const LENGTH: Milliseconds = 4;

/**
 * Jobs that wait for nothing would follow each other until none is left, and only then would the next claim and the next
 * commit be sent, and timers and sockets be looked at. So work is done in turns, and between two of them everything else
 * has its own.
 */
export class WorkTurn {
  private endsAt: Milliseconds = 0;
  private waits = false;

  /** @param next goes on with the work, once a turn has begun that was waited for */
  constructor(private readonly next: () => void) {}

  /** Whether to stop for now: `next` is called in a moment. */
  get isOver(): boolean {
    if (!this.waits && performance.now() >= this.endsAt) this.wait();
    return this.waits;
  }

  /** Begins a turn at once, unless one is waited for. */
  begin(): void {
    this.endsAt = performance.now() + LENGTH;
  }

  /** Lets everything else have its turn first: what it sends to the store is under way while the work goes on. */
  wait(): void {
    if (this.waits) return;
    this.waits = true;
    setImmediate(() => {
      this.waits = false;
      this.begin();
      this.next();
    });
  }
}
