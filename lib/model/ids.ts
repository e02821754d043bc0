import { randomFillSync } from 'node:crypto';

/** UUIDv7 in lowercase with hyphens: its text order is its creation order, on every store. */
export type JobId = string;
export type InstanceId = string;
export type BookmarkId = string;

const SEQUENCE_LIMIT = 0x1000; // the 12 bits behind the version digit
const RANDOM_BYTES = 8; // of one id
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * Mints UUIDv7 ids that increase strictly within a process, also within one millisecond and when the clock is set back.
 *
 * @see RFC 9562, section 6.2, method 1 (a counter in rand_a that is seeded at random, and overflows into the timestamp)
 */
export class IdGenerator {
  private time = 0;
  private sequence = 0;
  /** The digits of `time`, which most ids share with the one before. */
  private timeDigits = '';

  next(at: Date): string {
    const now = at.getTime();
    if (now > this.time) this.begin(now, randomSequence());
    else if (++this.sequence === SEQUENCE_LIMIT) this.begin(this.time + 1, 0);
    const random = takeRandomBytes();
    const version = 0x70 | (this.sequence >>> 8);
    const variant = 0x80 | (byteAt(random) & 0x3f);
    return (
      `${this.timeDigits}-${HEX[version]}${HEX[this.sequence & 0xff]}-${HEX[variant]}${digits(random + 1)}` +
      `-${digits(random + 2)}${digits(random + 3)}${digits(random + 4)}${digits(random + 5)}${digits(random + 6)}${digits(random + 7)}`
    );
  }

  private begin(time: number, sequence: number): void {
    this.time = time;
    this.sequence = sequence;
    const high = time.toString(16).padStart(12, '0');
    this.timeDigits = `${high.slice(0, 8)}-${high.slice(8)}`;
  }
}

const generator = new IdGenerator();

/** A new id whose time is `at`. */
export function newId(at: Date): string {
  return generator.next(at);
}

/** The instant at which a UUIDv7 was minted. */
export function createdAtOf(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The smallest id minted at or after `instant`: what a date filter compares ids with. */
export function firstIdAt(instant: Date): string {
  const high = Math.max(0, instant.getTime()).toString(16).padStart(12, '0');
  return `${high.slice(0, 8)}-${high.slice(8)}-7000-8000-000000000000`;
}

const HYPHENATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const COMPACT = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** Reads an id in either of its spellings (with or without hyphens, any case); null for text that is no id. */
export function parseId(text: string): string | null {
  const lower = text.toLowerCase();
  if (HYPHENATED.test(lower)) return lower;
  const parts = COMPACT.exec(lower);
  return parts && parts.slice(1).join('-');
}

// Drawn from the system by the page, since one call per id is what would cost.
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Where the next unused bytes of the pool begin. */
function takeRandomBytes(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_BYTES;
  return used - RANDOM_BYTES;
}

/** Where the counter of a millisecond begins: it leaves half of it free. */
function randomSequence(): number {
  return pool.readUInt16LE(takeRandomBytes()) >>> 5;
}

const byteAt = (position: number) => pool[position] ?? 0;
const digits = (position: number) => HEX[byteAt(position)];
