import ms from 'ms';
import { InvalidArgumentError } from './errors';

/** A duration in milliseconds; the alias only makes hovers show the unit. */
export type Milliseconds = number;

/** Milliseconds, or a string of the `ms` package: '30s', '2h', '7d'. */
export type Duration = Milliseconds | string;

export const SECOND: Milliseconds = 1000;
export const MINUTE: Milliseconds = 60 * SECOND;
export const HOUR: Milliseconds = 60 * MINUTE;
export const DAY: Milliseconds = 24 * HOUR;

/** The last instant that every store can hold. */
export const LATEST_INSTANT = new Date('9999-12-31T23:59:59.999Z');

/** Where Millrace reads the time. Replace it through `clock` to make time stand still in a test. */
export abstract class IClock {
  /** The present instant, UTC, with millisecond precision. */
  abstract now(): Date;
}

export class SystemClock extends IClock {
  override now(): Date {
    return new Date();
  }
}

/** A clock that moves when it is told to, and never by itself. */
export class FakeClock extends IClock {
  private time: number;

  constructor(startingAt: Date = new Date('2026-01-01T00:00:00.000Z')) {
    super();
    this.time = startingAt.getTime();
  }

  override now(): Date {
    return new Date(this.time);
  }

  /** Moves time by a duration; a negative one sets the clock back. */
  advance(by: Duration): void {
    this.time += typeof by === 'number' ? by : toMilliseconds(by, 'advance');
  }

  set(instant: Date): void {
    this.time = instant.getTime();
  }
}

/**
 * Reads a duration: milliseconds, or a string of the `ms` package.
 *
 * @param name how the caller knows the value; it stands in the error
 * @throws {InvalidArgumentError} for anything that is not a finite, non-negative duration
 */
export function toMilliseconds(duration: Duration, name: string): Milliseconds {
  const value = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError(
      `${name} must be milliseconds (0 or more) or a string such as '30s', '2h' or '7d', got ${shown(duration)}.`,
    );
  }
  return Math.round(value);
}

export function later(instant: Date, by: Milliseconds): Date {
  return new Date(instant.getTime() + by);
}

export function latest(a: Date, b: Date): Date {
  return a >= b ? a : b;
}

function parse(text: string): number | undefined {
  if (text.length === 0 || text.length > 100) return undefined;
  return ms(text as ms.StringValue);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
