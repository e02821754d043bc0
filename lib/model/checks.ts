import { InvalidArgumentError } from './errors';
import { type Duration, type Milliseconds, toMilliseconds } from './time';

const SHOWN = 60;
const LONGEST_TIMER: Milliseconds = 2 ** 31 - 1; // setTimeout fires at once beyond it

/** The error for a value that is not what it should be: `expected X to be …, got …`. */
export function unexpected(name: string, expectation: string, got: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`expected ${name} to be ${expectation}, got ${shown(got)}.`);
}

/** A value as an error message shows it: short, and never the contents of an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

export function checkedCount(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw unexpected(name, 'a whole number of 1 or more', value);
  }
  return value;
}

export function checkedFlag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw unexpected(name, 'true or false', value);
  return value;
}

export function checkedDuration(value: Duration, name: string): Milliseconds {
  try {
    return toMilliseconds(value, name);
  } catch {
    throw unexpected(name, "milliseconds or a string such as '30s', '2h' or '7d'", value);
  }
}

/** A duration that a single timer can measure. */
export function checkedTimeout(value: Duration, name: string): Milliseconds {
  const duration = checkedDuration(value, name);
  if (duration > LONGEST_TIMER) throw unexpected(name, 'at most 24 days', value);
  return duration;
}

/** A timeout that is not 0. */
export function checkedInterval(value: Duration, name: string): Milliseconds {
  const duration = checkedTimeout(value, name);
  if (duration === 0) throw unexpected(name, 'longer than 0', value);
  return duration;
}

/** Refuses the names that `known` does not list: a misspelt option must not pass for a default. */
export function refuseUnknownNames(given: object, known: ReadonlySet<string>, owner: string): void {
  for (const name of Object.keys(given)) {
    if (!known.has(name)) {
      throw new InvalidArgumentError(`${owner} has no option "${name}"; its options are ${[...known].join(', ')}.`);
    }
  }
}
