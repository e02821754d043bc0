import { shown, unexpected } from './checks';
import { InvalidArgumentError } from './errors';

/** Longest name of each kind, in UTF-16 units; the same on every store. */
const LIMITS = {
  queue: 128,
  tenant: 128,
  'signal name': 128,
  'workflow id': 128,
  'recurring id': 256,
  'job name': 256,
  'idempotency key': 512,
  'correlation id': 512,
  'start key': 512,
} as const;

export type NameKind = keyof typeof LIMITS;

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSTORABLE = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;

/**
 * Checks a name or key, which stores compare exactly, by code unit.
 *
 * @returns the name as it was given
 * @throws {InvalidArgumentError} it is empty, too long, has white space at an end, or holds control characters or half a
 *   surrogate pair
 */
export function checkedName(value: unknown, kind: NameKind): string {
  if (typeof value !== 'string' || value.length === 0) throw unexpected(`the ${kind}`, 'a non-empty string', value);
  if (value.length > LIMITS[kind]) {
    throw new InvalidArgumentError(
      `expected the ${kind} to be at most ${LIMITS[kind]} characters long, got ${value.length}: ${shown(value)}.`,
    );
  }
  if (value.trim().length !== value.length) throw unexpected(`the ${kind}`, 'without white space at its ends', value);
  if (UNSTORABLE.test(value)) throw unexpected(`the ${kind}`, 'without control characters and lone surrogates', value);
  return value;
}

/** Like {@link checkedName}, with null and undefined for no name. */
export function checkedNameOrNull(value: unknown, kind: NameKind): string | null {
  return value === undefined || value === null ? null : checkedName(value, kind);
}
