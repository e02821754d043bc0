import type { Milliseconds } from '../model/time';

const LONGEST_TIMER: Milliseconds = 2 ** 31 - 1;

/**
 * A flag that a loop sleeps on. Any number of signals collapse into one, and none is lost: a signal that comes while the
 * loop is busy ends its next wait at once.
 */
export class WakeLatch {
  private signalled = false;
  private wake: ((signalled: boolean) => void) | null = null;

  signal(): void {
    this.signalled = true;
    this.wake?.(true);
  }

  /** Takes the signal, if there is one, before work that would answer it: one that comes meanwhile counts again. */
  take(): boolean {
    const signalled = this.signalled;
    this.signalled = false;
    return signalled;
  }

  /**
   * Waits for a signal and takes it. One waiter at a time.
   *
   * @param timeout gives up after this long; without it the wait has no end
   * @returns false when it gave up
   */
  async wait(timeout?: Milliseconds): Promise<boolean> {
    if (this.take()) return true;
    let timer: NodeJS.Timeout | undefined;
    const signalled = await new Promise<boolean>((resolve) => {
      this.wake = resolve;
      if (timeout !== undefined) timer = setTimeout(resolve, Math.min(timeout, LONGEST_TIMER), false);
    });
    clearTimeout(timer);
    this.wake = null;
    // A signal that came together with the timeout is left for the next wait only if this one did not see it.
    return this.take() || signalled;
  }
}
