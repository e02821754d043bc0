import { types as inspect } from 'node:util';

/** A copy that shares nothing which can be changed; objects keep their prototype. */
export function copyDocument(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyDocument);
  if (inspect.isMap(value)) return new Map([...value].map(([key, item]) => [copyDocument(key), copyDocument(item)]));
  if (inspect.isSet(value)) return new Set([...value].map(copyDocument));
  return isAtom(value) ? copyAtom(value) : copyRecord(value);
}

/** A value with nothing in it that could be a document's own: it is one thing. */
export function isAtom(value: object): boolean {
  return inspect.isDate(value) || inspect.isRegExp(value) || inspect.isTypedArray(value) || value instanceof URL;
}

function copyAtom(value: object): unknown {
  if (inspect.isDate(value)) return new Date(value);
  if (inspect.isTypedArray(value)) return Buffer.isBuffer(value) ? Buffer.from(value) : value.slice();
  if (!inspect.isRegExp(value)) return new URL((value as URL).href);
  const copy = new RegExp(value.source, value.flags);
  copy.lastIndex = value.lastIndex;
  return copy;
}

/** No setter of a class runs, and a key may be "__proto__". */
function copyRecord(value: object): object {
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as object;
  for (const [key, item] of Object.entries(value)) define(copy, key, copyDocument(item));
  return copy;
}

export function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}
