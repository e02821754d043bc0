import { types as inspect } from 'node:util';
import { InvalidPayloadError } from './errors';
import { type PayloadRoot, payloadTooLarge, refusedPayload } from './payload-root';
import {
  bytesToJson,
  bytesTypeOf,
  type PayloadType,
  PayloadTypeIndex,
  regExpToJson,
  setProperty,
} from './payload-types';

const MAX_DEPTH = 500; // SQLite parses 1,000 levels, and JSON.stringify itself gives up at some thousands
const UNSTORABLE_TEXT = /\0|\p{Surrogate}/u;

/**
 * Turns one value into what JSON.stringify writes without loss. A value that is JSON already is answered as it is, without
 * a copy; one that is not is copied along the paths that change.
 */
export class PayloadEncoder {
  private readonly path: (string | number)[] = [];
  private readonly ancestors: object[] = [];
  private readonly index = new PayloadTypeIndex();
  private room: number;

  constructor(
    private readonly root: PayloadRoot,
    private readonly maxBytes: number,
  ) {
    this.room = maxBytes;
  }

  toJson(value: unknown): unknown {
    try {
      return this.visit(value);
    } catch (error) {
      if (error instanceof InvalidPayloadError) throw error;
      throw refusedPayload(this.root, this.path, 'reading it threw an error. Pass plain data.', error);
    }
  }

  types(): string | null {
    return this.index.toText();
  }

  private visit(value: unknown): unknown {
    this.take(1);
    switch (typeof value) {
      case 'string':
        return this.text(value);
      case 'boolean':
        return value;
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value;
        return this.typed('number', Object.is(value, -0) ? '-0' : String(value));
      case 'bigint':
        return this.typed('bigint', this.text(value.toString()));
      case 'undefined':
        return this.typed('undefined', null);
      case 'object':
        return value === null ? null : this.visitObject(value);
      case 'function':
        throw this.refused('a function cannot be stored. Pass data, and let the handler have the code.');
      case 'symbol':
        throw this.refused('a symbol cannot be stored. Pass a string.');
      default:
        throw this.refused(`a ${typeof value} cannot be stored.`);
    }
  }

  private visitObject(value: object): unknown {
    if (this.ancestors.includes(value)) throw this.refused('it contains itself. Pass data without cycles, or an id.');
    if (this.ancestors.length === MAX_DEPTH) throw this.refused(`it is nested more than ${MAX_DEPTH} levels deep.`);
    this.ancestors.push(value);
    const json = this.convert(value);
    this.ancestors.pop();
    return json;
  }

  private convert(value: object): unknown {
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === null) return this.typed('null-prototype', this.record(value));
    if (isObjectPrototype(prototype)) return this.record(value);
    if (Array.isArray(value) && isDirect(prototype)) return this.list(value as unknown[]);
    const bytes = bytesTypeOf(value);
    if (bytes !== undefined && isDirect(prototype, bytes === 'Buffer' ? 3 : 2)) {
      this.take((value as NodeJS.TypedArray).byteLength);
      return this.typed(bytes, bytesToJson(value as NodeJS.TypedArray));
    }
    if (isDirect(prototype) && Reflect.ownKeys(value).every((key) => key === 'lastIndex')) {
      if (inspect.isDate(value)) return this.date(value);
      if (inspect.isMap(value)) return this.typed('Map', this.list([...value]));
      if (inspect.isSet(value)) return this.typed('Set', this.list([...value]));
      if (inspect.isRegExp(value)) return this.typed('RegExp', this.text(regExpToJson(value)));
      if (value instanceof URL) return this.typed('URL', this.text(value.href));
    }
    throw this.refused(problemOf(value, prototype));
  }

  private record(value: object): object {
    const source = value as Record<string, unknown>;
    const keys = Object.keys(source);
    this.refuseSymbolKeys(value);
    let copy: Record<string, unknown> | undefined;
    for (let position = 0; position < keys.length; position++) {
      const key = keys[position] as string;
      this.path.push(key);
      this.take(key.length);
      if (UNSTORABLE_TEXT.test(key)) throw this.refused(UNSTORABLE_KEY);
      const item = source[key];
      const json = this.visit(item);
      this.path.pop();
      if (copy === undefined && json !== item) copy = copyOf(source, keys.slice(0, position));
      if (copy !== undefined) setProperty(copy, key, json);
    }
    return copy ?? source;
  }

  private list(items: readonly unknown[]): readonly unknown[] {
    this.take(items.length);
    this.refuseSymbolKeys(items);
    let copy: unknown[] | undefined;
    let holes = 0;
    for (let position = 0; position < items.length; position++) {
      const item = items[position];
      this.path.push(position);
      let json: unknown;
      if (item === undefined && !Object.hasOwn(items, position)) {
        holes++;
        json = this.typed('hole', null);
      } else {
        json = this.visit(item);
      }
      this.path.pop();
      if (copy === undefined && json !== item) copy = items.slice(0, position);
      copy?.push(json);
    }
    if (Object.keys(items).length > items.length - holes) {
      throw this.refused('a list with named properties cannot be stored. Pass an object, or the bare list.');
    }
    return copy ?? items;
  }

  private refuseSymbolKeys(value: object): void {
    if (Object.getOwnPropertySymbols(value).length === 0) return;
    throw this.refused('it has a property whose key is a symbol, which cannot be stored. Use string keys.');
  }

  private date(value: Date): string {
    if (Number.isNaN(value.getTime())) throw this.refused('an invalid Date cannot be stored.');
    return this.typed('Date', value.toISOString());
  }

  private text(value: string): string {
    this.take(value.length);
    if (UNSTORABLE_TEXT.test(value)) {
      throw this.refused(
        'its text holds U+0000 or a lone surrogate, which databases cannot store. Pass bytes instead.',
      );
    }
    return value;
  }

  private typed<T>(type: PayloadType, json: T): T {
    this.index.add(type, this.path);
    return json;
  }

  /** A lower bound of the size, so that no value is walked much further than it could be stored. */
  private take(units: number): void {
    this.room -= units;
    if (this.room < 0) throw payloadTooLarge(this.root, `more than ${this.maxBytes}`, this.maxBytes);
  }

  private refused(problem: string): InvalidPayloadError {
    return refusedPayload(this.root, this.path, problem);
  }
}

const UNSTORABLE_KEY = 'its key holds U+0000 or a lone surrogate, which databases cannot store.';

/** Object.prototype of this realm or another one (a vm context). */
export function isObjectPrototype(prototype: object): boolean {
  if (prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
}

/** Whether a built-in's prototype is the built-in's own one, `levels` below null, and not a subclass's. */
function isDirect(prototype: object, levels = 1): boolean {
  let above: object | null = prototype;
  for (let level = 0; level < levels && above !== null; level++) above = Object.getPrototypeOf(above) as object | null;
  return above !== null && Object.getPrototypeOf(above) === null;
}

function copyOf(source: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of keys) setProperty(copy, key, source[key]);
  return copy;
}

function problemOf(value: object, prototype: object): string {
  const name = classNameOf(prototype);
  if (inspect.isPromise(value)) return 'a promise cannot be stored. Await it, and pass what it gives.';
  if (isStream(value)) return 'a stream cannot be stored. Keep its content elsewhere and pass the place.';
  if (inspect.isAnyArrayBuffer(value) || inspect.isDataView(value)) {
    return `an instance of ${name} cannot be stored. Pass a Uint8Array of it.`;
  }
  return `an instance of ${name} cannot be stored as it is. Pass a plain object or an id.`;
}

function isStream(value: object): boolean {
  const candidate = value as { pipe?: unknown; getReader?: unknown; getWriter?: unknown };
  return [candidate.pipe, candidate.getReader, candidate.getWriter].some((member) => typeof member === 'function');
}

/** The class of a prototype, without running a getter of it. */
function classNameOf(prototype: object): string {
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'an anonymous class';
}
