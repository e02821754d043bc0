import { randomBytes } from 'node:crypto';

/** UUIDv7 in lowercase with hyphens: its text order is its creation order, on every store. */
export type JobId = string;
export type InstanceId = string;
export type BookmarkId = string;

const SEQUENCE_LIMIT = 0x1000; // the 12 bits behind the version digit

/**
 * Mints UUIDv7 ids that increase strictly within a process, also within one millisecond and when the clock is set back.
 *
 * @see RFC 9562, section 6.2, method 1 (a counter in rand_a that is seeded at random, and overflows into the timestamp)
 */
export class IdGenerator {
  private time = 0;
  private sequence = 0;

  next(at: Date): string {
    const now = at.getTime();
    if (now > this.time) {
      this.time = now;
      this.sequence = randomBits() >>> 21; // leaves half of the counter free
    } else if (++this.sequence === SEQUENCE_LIMIT) {
      this.time++;
      this.sequence = 0;
    }
    const high = this.time.toString(16).padStart(12, '0');
    const variant = (0x8000 | (randomBits() >>> 18)).toString(16);
    const tail = randomBits().toString(16).padStart(8, '0') + (randomBits() >>> 16).toString(16).padStart(4, '0');
    return `${high.slice(0, 8)}-${high.slice(8)}-7${this.sequence.toString(16).padStart(3, '0')}-${variant}-${tail}`;
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

const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

/** 32 random bits; drawn from the system by the page, since one call per id is what would cost. */
function randomBits(): number {
  if (used >= pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  const bits = pool.readUInt32LE(used);
  used += 4;
  return bits;
}
