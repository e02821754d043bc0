import type { Milliseconds } from '../model/time';

/** Waits for others, but not for ever: a wait has a limit, and after one that reached it there is none for a while. */
export class Patience {
  private waitsFor: string | null = null;
  private since = 0;
  private restsUntil = Number.NEGATIVE_INFINITY;

  /**
   * @param limit how long one wait may last
   * @param rest how long there is none after a wait that was in vain
   */
  constructor(
    private readonly limit: Milliseconds,
    private readonly rest: Milliseconds,
    /** Milliseconds of a clock that never goes back. */
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** No wait may begin yet. */
  get rests(): boolean {
    return this.monotonic() < this.restsUntil;
  }

  /**
   * Begins a wait, or goes on with it.
   *
   * @param what is waited for; something else than before is a wait of its own
   * @returns false once the wait has reached its limit: it was in vain
   */
  lasts(what: string): boolean {
    const now = this.monotonic();
    if (what !== this.waitsFor) this.since = now;
    this.waitsFor = what;
    if (now - this.since < this.limit) return true;
    this.restsUntil = now + this.rest;
    this.end();
    return false;
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.waitsFor = null;
  }
}
