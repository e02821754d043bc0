import { types as inspect } from 'node:util';
import { isObjectPrototype } from '../../model/payload-encoder';
import { bytesTypeOf } from '../../model/payload-types';

/**
 * Whether two values of a document are the same, however deep: of one type, with the same content. Maps and sets have an
 * order, as they have where they are stored; the properties of an object have none.
 *
 * Not `isDeepStrictEqual`, to which two URLs are the same on Node 20 whatever they name.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b);
  if (inspect.isMap(a)) return inspect.isMap(b) && isSameList([...a].flat(1), [...b].flat(1));
  if (inspect.isSet(a)) return inspect.isSet(b) && isSameList([...a], [...b]);
  if (inspect.isDate(a)) return inspect.isDate(b) && Object.is(a.getTime(), b.getTime());
  if (inspect.isRegExp(a)) return inspect.isRegExp(b) && String(a) === String(b) && a.lastIndex === b.lastIndex;
  if (inspect.isTypedArray(a)) return inspect.isTypedArray(b) && areSameBytes(a, b);
  if (a instanceof URL) return b instanceof URL && a.href === b.href;
  return haveOneType(a, b) && isSameRecord(a as Record<string, unknown>, b as Record<string, unknown>);
}

/** Whether two objects have one prototype; the plain ones of all realms (a vm context has its own) are one. */
export function haveOneType(a: object, b: object): boolean {
  const [first, second] = [a, b].map((value) => Object.getPrototypeOf(value) as object | null);
  if (first === second) return true;
  return !!first && !!second && isObjectPrototype(first) && isObjectPrototype(second);
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (Object.hasOwn(a, index) !== Object.hasOwn(b, index) || !isSame(a[index], b[index])) return false;
  }
  return true;
}

function isSameRecord(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

function areSameBytes(a: NodeJS.TypedArray, b: NodeJS.TypedArray): boolean {
  return bytesTypeOf(a) === bytesTypeOf(b) && bytesOf(a).equals(bytesOf(b));
}

function bytesOf(value: NodeJS.TypedArray): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
