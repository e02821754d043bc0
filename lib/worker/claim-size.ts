import type { Milliseconds } from '../model/time';

/** A claim brings work for about this long: enough to hide a round trip, too little to keep other nodes waiting. */
const WINDOW: Milliseconds = 32;
const SLICES = 8;
const SLICE: Milliseconds = WINDOW / SLICES;

/** Arguments of jobs that were claimed and have not started, in UTF-16 units. */
const PAYLOAD_LIMIT = 16 * 1024 * 1024;

export interface ClaimSizeOptions {
  readonly maxParallelism: number;
  readonly claimBatchSize: number;
}

/** What a node holds at the moment of a claim. */
export interface HeldWork {
  /** Claimed jobs whose handlers have not ended, those that have not started included. */
  readonly unfinished: number;
  /** UTF-16 units of arguments that wait to be started. */
  readonly waitingPayload: number;
  /** Ended jobs whose end the store has not acknowledged yet. */
  readonly unacknowledged: number;
}

/**
 * How many jobs to claim: as many as ended during the last few tens of milliseconds, and never fewer than the free slots.
 *
 * Jobs that take longer than that end in no greater number than there are slots, so for them nothing is claimed ahead;
 * jobs that take no time double the claim each time, up to its limit.
 */
export class ClaimSize {
  private readonly slices = new Uint32Array(SLICES);
  private slice = 0;
  private recent = 0;
  private ended = 0;
  private ahead = 0;

  constructor(private readonly options: ClaimSizeOptions) {}

  /** A handler has ended. */
  jobEnded(): void {
    this.ended++;
  }

  /**
   * How many jobs to claim now; 0 while there is enough to do.
   *
   * @param now milliseconds of a clock that never goes back
   */
  next(held: HeldWork, now: Milliseconds): number {
    const { maxParallelism, claimBatchSize } = this.options;
    this.ahead = Math.max(0, Math.min(this.endedRecently(now), claimBatchSize) - maxParallelism);
    if (!this.hasRoom(held)) return 0;
    return Math.min(
      maxParallelism + this.ahead - held.unfinished,
      this.unacknowledgedLimit - held.unacknowledged,
      claimBatchSize,
    );
  }

  /** Whether {@link next} may ask for jobs, judged by the rate that it saw last. */
  hasRoom(held: HeldWork): boolean {
    // What is claimed ahead is refilled when half of it is used up: otherwise every job that ends would be a claim of one.
    return (
      held.unfinished < this.options.maxParallelism + this.ahead / 2 &&
      held.unacknowledged < this.unacknowledgedLimit &&
      payloadRoom(held) > 0
    );
  }

  private get unacknowledgedLimit(): number {
    return 2 * this.options.claimBatchSize;
  }

  private endedRecently(now: Milliseconds): number {
    const slice = Math.floor(now / SLICE);
    for (let passed = Math.min(slice - this.slice, SLICES); passed > 0; passed--) {
      const oldest = (slice - passed + 1) % SLICES;
      this.recent -= this.slices[oldest] ?? 0;
      this.slices[oldest] = 0;
    }
    this.slice = slice;
    this.slices[slice % SLICES] = (this.slices[slice % SLICES] ?? 0) + this.ended;
    this.recent += this.ended;
    this.ended = 0;
    return this.recent;
  }
}

/** How much more argument text a node may claim, in UTF-16 units. */
export function payloadRoom(held: HeldWork): number {
  return PAYLOAD_LIMIT - held.waitingPayload;
}
