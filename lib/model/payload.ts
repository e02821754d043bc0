import { InvalidPayloadError } from './errors';
import { PayloadEncoder } from './payload-encoder';
import { ARGUMENTS, type PayloadRoot, payloadTooLarge } from './payload-root';
import { revive } from './payload-types';

/** A value as it is stored: JSON that people and SQL can read, and beside it what JSON lacks of it. */
export interface EncodedPayload {
  readonly json: string;
  /** Which paths of `json` stand for what type, as JSON text; null when everything is what it looks like. */
  readonly types: string | null;
}

/**
 * Encodes the arguments of a call as one JSON array. Whatever is accepted comes back deeply equal.
 *
 * Carried: JSON, Date, bigint, Map, Set, RegExp, URL, Buffer and typed arrays, undefined, NaN, ±Infinity, -0.
 *
 * @param maxBytes largest size of the result, in bytes of UTF-8
 * @throws {InvalidPayloadError} anything else, text with U+0000 or half a surrogate pair, or more than `maxBytes`; it names
 *   the argument, counted from 1, and the path inside it
 */
export function encodeArguments(args: readonly unknown[], maxBytes: number): EncodedPayload {
  return encode(args, ARGUMENTS, maxBytes);
}

/** Encodes one value, such as a workflow's document or a signal's payload; `name` is what its errors call it. */
export function encodePayload(value: unknown, name: string, maxBytes: number): EncodedPayload {
  return encode(value, { name, hasArguments: false }, maxBytes);
}

/** Gives back what {@link encodeArguments} was given. */
export function decodeArguments(json: string, types: string | null): unknown[] {
  const args = decodePayload(json, types);
  if (!Array.isArray(args)) throw new InvalidPayloadError('The stored arguments are no list.', ARGUMENTS.name);
  return args;
}

/** Gives back what {@link encodePayload} was given. */
export function decodePayload(json: string, types: string | null): unknown {
  const value: unknown = JSON.parse(json);
  return types === null ? value : revive(value, types);
}

/** @throws {InvalidPayloadError} it is larger than `maxBytes`, which may be less than it was encoded with */
export function checkPayloadSize({ json, types }: EncodedPayload, root: PayloadRoot, maxBytes: number): void {
  const units = json.length + (types?.length ?? 0);
  if (units * 3 <= maxBytes) return; // no UTF-16 unit takes more than three bytes of UTF-8
  const bytes = Buffer.byteLength(json) + (types === null ? 0 : Buffer.byteLength(types));
  if (bytes > maxBytes) throw payloadTooLarge(root, `${bytes}`, maxBytes);
}

function encode(value: unknown, root: PayloadRoot, maxBytes: number): EncodedPayload {
  const encoder = new PayloadEncoder(root, maxBytes);
  const json = JSON.stringify(encoder.toJson(value));
  const payload: EncodedPayload = { json, types: encoder.types() };
  checkPayloadSize(payload, root, maxBytes);
  return payload;
}
