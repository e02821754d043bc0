import {
  anything,
  type Arbitrary,
  array,
  assert,
  bigInt,
  boolean,
  constantFrom,
  date,
  dictionary,
  double,
  float64Array,
  integer,
  letrec,
  oneof,
  property,
  string,
  tuple,
  uint8Array,
  webUrl,
} from 'fast-check';
import nodeAssert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import { InvalidPayloadError } from '../../../lib/model/errors';
import { decodeArguments, decodePayload, encodeArguments, encodePayload } from '../../../lib/model/payload';

const LIMIT = 2 ** 20;

function roundTrip(...args: unknown[]): unknown[] {
  const { json, types } = encodeArguments(args, LIMIT);
  return decodeArguments(json, types);
}

function refusal(...args: unknown[]): InvalidPayloadError {
  try {
    encodeArguments(args, LIMIT);
  } catch (error) {
    if (error instanceof InvalidPayloadError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

class Money {
  constructor(readonly cents: number) {}
}
class Moment extends Date {}
class Lines extends Array<number> {}

describe('Arguments', () => {
  it('that are JSON are stored as JSON and nothing else', () => {
    const args = ['o-1', 2.5, true, null, { lines: [{ sku: 'a', count: 0 }] }, ''];

    const payload = encodeArguments(args, LIMIT);

    expect(payload).toEqual({ json: JSON.stringify(args), types: null });
  });

  it('that JSON lacks are stored readably, with their types beside', () => {
    const payload = encodeArguments([{ at: new Date(0), n: 12n }, new Map([['a', new Set([1])]])], LIMIT);

    expect(payload.json).toBe('[{"at":"1970-01-01T00:00:00.000Z","n":"12"},[["a",[1]]]]');
    expect(JSON.parse(payload.types!)).toEqual({
      Date: [[0, 'at']],
      bigint: [[0, 'n']],
      Map: [[1]],
      Set: [[1, 0, 1]],
    });
  });

  it.each<[string, unknown]>([
    ['a Date', new Date('2026-03-01T12:00:00.123Z')],
    ['the earliest Date', new Date(-8.64e15)],
    ['a bigint', -(2n ** 200n)],
    [
      'a Map',
      new Map<unknown, unknown>([
        [{ k: 1 }, new Date(5)],
        [undefined, NaN],
      ]),
    ],
    ['a Set', new Set([1, 'a', null, undefined])],
    ['a RegExp', /a\/[/]b\n/giu],
    ['an empty RegExp', new RegExp('')],
    ['a URL', new URL('https://example.com/a?b=c#d')],
    ['a Buffer', Buffer.from([0, 1, 255])],
    ['an empty Buffer', Buffer.alloc(0)],
    ['a Uint8Array', new Uint8Array([0, 1, 255])],
    ['a part of a larger buffer', new Uint16Array(new Uint8Array([9, 9, 1, 2, 3, 4]).buffer, 2, 2)],
    ['an Int8Array', new Int8Array([-1, 1])],
    ['a Uint8ClampedArray', new Uint8ClampedArray([300])],
    ['a Float32Array', new Float32Array([1.5, NaN, -0])],
    ['a Float64Array', new Float64Array([1.1, Infinity])],
    ['a BigInt64Array', new BigInt64Array([-5n])],
    ['a BigUint64Array', new BigUint64Array([5n])],
    ['undefined', undefined],
    ['undefined in an object', { a: undefined, b: 1 }],
    ['undefined in a list', [1, undefined, 2]],
    ['holes in a list', [, 1, , 2, ,]], // oxlint-disable-line no-sparse-arrays
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
    ['-0', -0],
    ['0', 0],
    ['false', false],
    ['an empty string', ''],
    ['null', null],
    ['keys that mean something to JavaScript', JSON.parse('{"__proto__":{"a":1},"constructor":1,"toJSON":2,"then":3}')],
    [
      'types below the key __proto__',
      JSON.parse('{"a":[],"__proto__":[]}', (key, value) => (key === '__proto__' ? new Date(1) : value)),
    ],
    ['an object without prototype', Object.assign(Object.create(null), { a: new Date(0) })],
    ['an object of another realm', runInNewContext('({ a: [1, { b: new Date(5) }], m: new Map([[1, 2]]) })')],
    ['emoji and right-to-left marks', 'a😀\u200f‮𝒳'],
    ['emoji as a key', { '😀': 1 }],
    [
      'the same object twice',
      (() => {
        const shared = { a: 1 };
        return [shared, shared];
      })(),
    ],
  ])('give %s back as it was', (_, value) => {
    const [first, second] = roundTrip(value, [value]) as [unknown, unknown[]];

    nodeAssert.deepEqual(toThisRealm(first), toThisRealm(value));
    nodeAssert.deepEqual(toThisRealm(second[0]), toThisRealm(value));
  });

  it('keep where a RegExp stands', () => {
    const pattern = /a/g;
    pattern.lastIndex = 3;

    const [back] = roundTrip(pattern) as [RegExp];

    expect([back.source, back.flags, back.lastIndex]).toEqual(['a', 'g', 3]);
  });

  it('share nothing with what was passed', () => {
    const order = { lines: [1] };
    const { json, types } = encodeArguments([order], LIMIT);
    order.lines.push(2);

    expect(decodeArguments(json, types)).toEqual([{ lines: [1] }]);
  });

  it.each<[string, () => unknown, string, RegExp]>([
    ['a function', () => ({ a: { b: () => 1 } }), 'argument 2, at .a.b', /function/],
    ['a symbol', () => [Symbol('x')], 'argument 2, at [0]', /symbol/],
    ['a symbol as a key', () => ({ a: { [Symbol('x')]: 1 } }), 'argument 2, at .a', /symbol/],
    ['a toJSON method', () => ({ toJSON: () => 1 }), 'argument 2, at .toJSON', /function/],
    ['a promise', () => ({ p: Promise.resolve(1) }), 'argument 2, at .p', /promise.*Await/],
    ['a stream', () => Readable.from([]), 'argument 2', /stream/],
    ['a web stream', () => new ReadableStream(), 'argument 2', /stream/],
    ['an invalid date', () => [{ 'due at': new Date(NaN) }], 'argument 2, at [0]["due at"]', /invalid Date/],
    [
      'an instance of a class',
      () => ({ price: new Money(5) }),
      'argument 2, at .price',
      /Money.*plain object or an id/,
    ],
    ['an instance of a subclass of Date', () => new Moment(), 'argument 2', /Moment/],
    ['an instance of a subclass of Array', () => Lines.of(1), 'argument 2', /Lines/],
    ['an Error', () => new TypeError('x'), 'argument 2', /TypeError/],
    ['a WeakMap', () => new WeakMap(), 'argument 2', /WeakMap/],
    ['an ArrayBuffer', () => new ArrayBuffer(2), 'argument 2', /ArrayBuffer.*Uint8Array/],
    ['a boxed string', () => Object('text'), 'argument 2', /String/],
    ['a Date with fields of its own', () => Object.assign(new Date(0), { zone: 'UTC' }), 'argument 2', /Date/],
    ['a list with names', () => Object.assign([1], { total: 1 }), 'argument 2', /named properties/],
    ['a match of a RegExp', () => /a/.exec('a'), 'argument 2', /named properties/],
    ['U+0000', () => ({ s: 'a\u0000b' }), 'argument 2, at .s', /U\+0000/],
    ['a lone surrogate', () => ['\ud800'], 'argument 2, at [0]', /surrogate/],
    ['U+0000 in a key', () => ({ 'a\u0000': 1 }), 'argument 2, at ["a\\u0000"]', /key.*U\+0000/],
    ['a lone surrogate in a key of a Map', () => new Map([['\udc00', 1]]), 'argument 2, at [0][0]', /surrogate/],
    [
      'a getter that throws',
      () => ({
        get a() {
          throw new Error('x');
        },
      }),
      'argument 2, at .a',
      /reading it threw/,
    ],
  ])('refuse %s, naming the place', (_, make, path, message) => {
    const error = refusal('fine', make());

    expect(error.path).toBe(path);
    expect(error.message).toMatch(message);
    expect(error.message.toLowerCase()).toContain(path.toLowerCase());
  });

  it('refuse a cycle, through whatever it goes', () => {
    const list: unknown[] = [];
    list.push({ again: new Map([['list', list]]) });

    expect(refusal(list).path).toBe('argument 1, at [0].again[0][1]');
  });

  it('refuse nesting that databases cannot follow', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];

    expect(refusal(deep).message).toMatch(/nested more than 500 levels/);
  });

  it('refuse what is larger than the limit, counting bytes', () => {
    expect(() => encodeArguments(['a'.repeat(96)], 100)).not.toThrow();
    expect(() => encodeArguments(['a'.repeat(97)], 100)).toThrow(/101 bytes.*maxPayloadBytes is 100/);
    expect(() => encodeArguments(['€'.repeat(32)], 100)).not.toThrow();
    expect(() => encodeArguments(['€'.repeat(33)], 100)).toThrow(InvalidPayloadError);
  });

  it('refuse at once what would become huge', () => {
    let doubled: unknown = 'x';
    for (let level = 0; level < 60; level++) doubled = [doubled, doubled];

    expect(refusal(doubled).message).toMatch(/maxPayloadBytes/);
    expect(refusal(Object.assign([], { length: 2 ** 31 })).message).toMatch(/maxPayloadBytes/);
  });

  it('come back deeply equal, whatever they are, unless they are refused', () => {
    const values = anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withObjectString: true,
      withBoxedValues: true,
    });
    let accepted = 0;

    assert(
      property(array(values, { maxLength: 3 }), (args) => {
        let payload;
        try {
          payload = encodeArguments(args, LIMIT);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidPayloadError);
          return;
        }
        accepted++;
        nodeAssert.deepEqual(decodeArguments(payload.json, payload.types), args);
      }),
      { numRuns: 1000 },
    );

    expect(accepted).toBeGreaterThan(300);
  });

  it('come back deeply equal, whatever supported types are nested in each other', () => {
    assert(
      property(array(supported(), { maxLength: 3 }), (args) => {
        nodeAssert.deepEqual(roundTrip(...args), args);
      }),
      { numRuns: 500 },
    );
  });
});

describe('A document', () => {
  it('has the name that its errors call it', () => {
    expect(() => encodePayload({ a: [Symbol('x')] }, 'the document', LIMIT)).toThrow(
      expect.objectContaining({ path: 'the document, at .a[0]' }),
    );
    expect(() => encodePayload([() => 1], 'the signal', LIMIT)).toThrow(
      expect.objectContaining({ path: 'the signal, at [0]' }),
    );
  });

  it.each([undefined, -0, new Date(0), 5, { a: 1n }])('may be %s itself', (value) => {
    const { json, types } = encodePayload(value, 'the document', LIMIT);

    nodeAssert.deepEqual(decodePayload(json, types), value);
  });

  it('of a type that this version lacks is no silent loss', () => {
    expect(() => decodePayload('["x"]', '{"Temporal":[[0]]}')).toThrow(/"Temporal"/);
  });
});

function supported(): Arbitrary<unknown> {
  const text = string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
  const { value } = letrec<{ value: unknown }>((tie) => ({
    value: oneof(
      { maxDepth: 4, depthIdentifier: 'payload' },
      text,
      integer(),
      double(),
      boolean(),
      bigInt(),
      date({ noInvalidDate: true }),
      webUrl().map((url) => new URL(url)),
      constantFrom(undefined, null, NaN, -0, /a+/g),
      uint8Array(),
      uint8Array().map((bytes) => Buffer.from(bytes)),
      float64Array(),
      array(tie('value'), { maxLength: 4 }),
      array(tie('value'), { maxLength: 4 }).map((values) => new Set(values)),
      array(tuple(tie('value'), tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
      dictionary(oneof(text, constantFrom('__proto__', 'constructor', 'toJSON', 'then')), tie('value'), { maxKeys: 4 }),
    ),
  }));
  return value;
}

/** Deep equality compares prototypes, and each realm has its own. */
function toThisRealm(value: unknown): unknown {
  if (Array.isArray(value)) return Array.from({ length: value.length }, (_, index) => toThisRealm(value[index]));
  const name = Object.prototype.toString.call(value).slice(8, -1);
  if (name === 'Date') return new Date(value as Date);
  if (name === 'Map') return [...(value as Map<unknown, unknown>)].map(toThisRealm);
  if (name !== 'Object' || Object.getPrototypeOf(value) === null) return value;
  return Object.entries(value as object).map(([key, item]) => [key, toThisRealm(item)]);
}
