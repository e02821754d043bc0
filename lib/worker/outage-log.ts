import type { StorageLogger } from '../storage/storage';
import { SECOND } from '../model/time';

/** Tells that the store fails, and that it answers again: a line a second at the most, whatever calls it and however it flaps. */
export class OutageLog {
  private failures = 0;
  private unreported = 0;
  private writtenAt = Number.NEGATIVE_INFINITY;
  private since = 0;

  constructor(
    private readonly logger: StorageLogger,
    /** Milliseconds of a clock that never goes back. */
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** @param operation what was tried, for example `claim` */
  failed(operation: string, error: unknown): void {
    const now = this.monotonic();
    if (this.failures === 0) this.since = now;
    this.failures++;
    this.unreported++;
    if (now - this.writtenAt < SECOND) return;
    const others = this.unreported > 1 ? ` (${this.unreported} failed calls since the last line)` : '';
    this.logger.error(`The store failed at "${operation}", which is tried again: ${messageOf(error)}${others}`);
    this.writtenAt = now;
    this.unreported = 0;
  }

  /** A call succeeded. */
  answered(): void {
    if (this.failures === 0) return;
    const now = this.monotonic();
    // Too soon after the last line: a later success says it, unless the store fails again before.
    if (now - this.writtenAt < SECOND) return;
    const seconds = ((now - this.since) / SECOND).toFixed(1);
    this.logger.log(`The store answers again: ${this.failures} calls failed within ${seconds} s.`);
    this.writtenAt = now;
    this.failures = 0;
    this.unreported = 0;
  }
}

function messageOf(error: unknown): string {
  try {
    return error instanceof Error && error.message !== '' ? error.message : String(error);
  } catch {
    return 'an error that cannot be shown';
  }
}
