import { types as inspect } from 'node:util';

/** Largest text of a failure, in bytes of UTF-8. */
export const FAILURE_TEXT_BYTES = 8192;

const CUT_MARK = '… [cut]';
const CAUSED_BY = '\nCaused by: ';
const MAX_CAUSES = 5;
const MAX_FIELDS = 10;

/**
 * Renders whatever a handler threw to readable text of at most 8 KiB: message, stack, causes (at most five deep). Longer
 * text is cut at a whole character and marked as cut; U+0000 and lone surrogates become U+FFFD.
 *
 * Never throws, and stores no fields of the error but these: they hold sockets and credentials.
 */
export function failureText(thrown: unknown): string {
  const parts = [oneFailure(thrown)];
  const seen = new Set([thrown]);
  let cause = read(thrown, 'cause');
  while (cause !== undefined && cause !== null && !seen.has(cause)) {
    if (parts.length > MAX_CAUSES) {
      parts.push('and further causes');
      break;
    }
    parts.push(oneFailure(cause));
    seen.add(cause);
    cause = read(cause, 'cause');
  }
  return joined(parts.map((part) => storable(part)));
}

/** All of them where there is room, else an equal share of each: a long stack must not push out the cause. */
function joined(parts: readonly string[]): string {
  const whole = parts.join(CAUSED_BY);
  if (Buffer.byteLength(whole) <= FAILURE_TEXT_BYTES) return whole;
  const share = Math.floor(FAILURE_TEXT_BYTES / parts.length) - CAUSED_BY.length;
  return parts.map((part) => cutText(part, share)).join(CAUSED_BY);
}

/** Replaces what a database cannot store as text. */
export function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD');
}

/** Cuts text to so many bytes of UTF-8, at a whole character, and marks it as cut. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(CUT_MARK);
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // a byte within a character
  return bytes.toString('utf8', 0, end) + CUT_MARK;
}

function oneFailure(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown.trim() === '' ? 'The handler threw an empty string.' : limited(thrown);
  if (typeof thrown === 'function') return 'The handler threw a function.';
  if (typeof thrown === 'object' && thrown !== null) return objectFailure(thrown);
  return `The handler threw ${String(thrown)}.`; // String, since a symbol does not become text by itself
}

function objectFailure(thrown: object): string {
  const message = textOf(thrown, 'message');
  const stack = textOf(thrown, 'stack');
  if (message === '' && stack === '') return `The handler threw ${describe(thrown)}.`;
  const name = textOf(thrown, 'name') || (isError(thrown) ? 'Error' : '');
  const headline = [name, message].filter((part) => part !== '').join(': ');
  // The stack begins with the message, unless somebody changed one of them afterwards.
  const text = stack === '' ? headline : message !== '' && !stack.includes(message) ? `${headline}\n${stack}` : stack;
  return text + aggregated(thrown);
}

/** An AggregateError often has no message of its own: a refused connection is one. */
function aggregated(thrown: object): string {
  const errors = read(thrown, 'errors');
  if (!isError(thrown) || !Array.isArray(errors)) return '';
  const lines = errors
    .slice(0, MAX_CAUSES)
    .map((error: unknown) => `\n- ${textOf(error, 'message') || describe(error)}`);
  return lines.join('');
}

/** Class and names of the fields; never their values. */
function describe(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  try {
    const type = read(Object.getPrototypeOf(thrown), 'constructor');
    const name = typeof type === 'function' ? textOf(type, 'name') : '';
    const fields = Object.keys(thrown).slice(0, MAX_FIELDS).join(', ');
    return `an object that is no Error (${name || 'without a class'}; fields: ${fields || 'none'})`;
  } catch {
    return 'an object that cannot be read';
  }
}

function isError(value: object): boolean {
  try {
    return inspect.isNativeError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

function textOf(value: unknown, property: string): string {
  const text = read(value, property);
  return typeof text === 'string' ? limited(text) : '';
}

function read(value: unknown, property: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

/** Before any work is spent on text that will be cut. */
function limited(text: string): string {
  return text.slice(0, FAILURE_TEXT_BYTES + 1);
}
