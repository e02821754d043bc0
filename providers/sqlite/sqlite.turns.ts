import type { Milliseconds } from '../../lib/storage';

const LONGEST_TURN: Milliseconds = 10;

/**
 * Runs synchronous work, first come, first served, and lets everything else have its turn every few milliseconds: an
 * operation that waits for no input or output ends without one, and a loop of them would keep timers and sockets waiting.
 */
export class Turns {
  private began: Milliseconds | null = null;
  private readonly waiting: (() => void)[] = [];

  /** Runs `work` at once where this turn has time left, else in one of the next. */
  async take<T>(work: () => T): Promise<T> {
    if (this.waiting.length === 0 && !this.isOver()) return work();
    return new Promise((resolve, reject) => {
      this.waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private next(): void {
    this.began = null;
    while (this.waiting.length > 0 && !this.isOver()) this.waiting.shift()?.();
  }

  private isOver(): boolean {
    if (this.began !== null) return performance.now() - this.began > LONGEST_TURN;
    this.began = performance.now();
    setImmediate(() => this.next());
    return false;
  }
}
