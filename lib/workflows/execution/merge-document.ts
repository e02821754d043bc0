import { types as inspect } from 'node:util';
import { define, isAtom } from './copy-document';
import { haveOneType, isSame } from './same-value';

type Properties = Readonly<Record<string, unknown>>;

/**
 * Brings what an execution has made of the document into the document as it is now, property by property: what it has not
 * changed stays as it is stored, what it has changed, added or removed is taken over. Lists, dates, maps and other typed
 * values are one value each. Changes none of the three, and shares with them what it can.
 *
 * @param before what the execution was given
 * @param after what it left
 * @param stored what others have made of it meanwhile
 */
export function mergeDocument(before: unknown, after: unknown, stored: unknown): unknown {
  if (Object.is(before, after)) return stored;
  if (isRecord(before) && isRecord(after) && isRecord(stored)) {
    if (haveOneType(before, after) && haveOneType(after, stored)) return mergeRecords(before, after, stored);
  }
  return isSame(before, after) ? stored : after;
}

function mergeRecords(before: Properties, after: Properties, stored: Properties): Properties {
  let merged: Record<string, unknown> | null = null;
  for (const key of Object.keys(after)) {
    const value = mergedProperty(before, after, stored, key);
    if (value === ABSENT || (has(stored, key) && Object.is(value, stored[key]))) continue;
    merged ??= copyOf(stored);
    define(merged, key, value);
  }
  for (const key of Object.keys(before)) {
    if (has(after, key) || !has(stored, key)) continue;
    merged ??= copyOf(stored);
    delete merged[key];
  }
  return merged ?? stored;
}

const ABSENT = Symbol('absent');

function mergedProperty(before: Properties, after: Properties, stored: Properties, key: string): unknown {
  if (!has(before, key)) return after[key];
  if (has(stored, key)) return mergeDocument(before[key], after[key], stored[key]);
  // Somebody else has removed it; a change made here brings it back.
  return isSame(before[key], after[key]) ? ABSENT : after[key];
}

function copyOf(record: Properties): Record<string, unknown> {
  const copy = Object.create(Object.getPrototypeOf(record) as object | null) as Record<string, unknown>;
  for (const key of Object.keys(record)) define(copy, key, record[key]);
  return copy;
}

function has(object: Properties, key: string): boolean {
  return Object.hasOwn(object, key);
}

function isRecord(value: unknown): value is Properties {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(inspect.isMap(value) || inspect.isSet(value) || isAtom(value));
}
