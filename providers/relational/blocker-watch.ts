import { setTimeout as sleep } from 'node:timers/promises';
import type { Milliseconds } from '../../lib/storage';

const INTERVAL: Milliseconds = 250;

/** Remembers who was in the way of an operation, since nobody can tell once the wait is over. */
export class BlockerWatch {
  /** Who held what the operation waited for when it was last asked; null when that could not be told. */
  lastSeen: string | null = null;
  private readonly stopped = new AbortController();

  /** @param lockTimeout how long the operation waits for a lock; nothing is asked before the end of that comes near */
  constructor(private readonly lockTimeout: Milliseconds) {}

  start(ask: () => Promise<string | null>): void {
    void this.run(ask).catch(() => undefined); // stopped
  }

  stop(): void {
    this.stopped.abort();
  }

  private async run(ask: () => Promise<string | null>): Promise<void> {
    const { signal } = this.stopped;
    await sleep(Math.max(this.lockTimeout / 2, this.lockTimeout - 2 * INTERVAL), undefined, { signal });
    for (;;) {
      this.lastSeen = await ask();
      await sleep(INTERVAL, undefined, { signal });
    }
  }
}
