import { InvalidArgumentError } from '../../../lib/model/errors';
import { checkedName, checkedNameOrNull, type NameKind } from '../../../lib/model/names';

describe('A name', () => {
  it.each<[NameKind, number]>([
    ['queue', 128],
    ['tenant', 128],
    ['signal name', 128],
    ['workflow id', 128],
    ['recurring id', 256],
    ['job name', 256],
    ['idempotency key', 512],
    ['correlation id', 512],
  ])('that is a %s has at most %i UTF-16 units', (kind, limit) => {
    const longest = '😀'.repeat(limit / 2);

    expect(checkedName(longest, kind)).toBe(longest);
    expect(() => checkedName(`${longest}a`, kind)).toThrow(
      new RegExp(`^expected the ${kind} to be at most ${limit} characters long, got ${limit + 1}: `),
    );
  });

  it.each(['a', 'capture:payment 1', 'Ünïcödé 名前', 'a\u200fb', 'quotes \' and " and \\'])('may be %j', (name) => {
    expect(checkedName(name, 'queue')).toBe(name);
  });

  it.each([
    ['', /non-empty string, got ""/],
    [' a', /without white space at its ends, got " a"/],
    ['a\u00a0', /without white space/],
    ['\ufeffa', /without white space/],
    ['a\nb', /without control characters/],
    ['a\u0000b', /got "a\\u0000b"/],
    ['a\u007fb', /without control characters/],
    ['a\u0085b', /without control characters/],
    ['a\ud800b', /lone surrogates, got "a\\ud800b"/],
    [5, /got 5/],
    [null, /got null/],
    [{}, /got an object/],
  ])('may not be %j', (name, message) => {
    expect(() => checkedName(name, 'queue')).toThrow(InvalidArgumentError);
    expect(() => checkedName(name, 'queue')).toThrow(message);
  });

  it('may be absent where it is optional', () => {
    expect(checkedNameOrNull(undefined, 'tenant')).toBeNull();
    expect(checkedNameOrNull(null, 'tenant')).toBeNull();
    expect(checkedNameOrNull('a', 'tenant')).toBe('a');
  });
});
