import { anything, assert, property, string } from 'fast-check';
import { cutText, FAILURE_TEXT_BYTES, failureText } from '../../../lib/model/failure-text';

const bytes = (text: string): number => Buffer.byteLength(text);

describe('The text of a failure', () => {
  it('is the stack, which begins with the message', () => {
    const error = new TypeError('card declined');

    expect(failureText(error)).toBe(error.stack);
  });

  it.each([
    [undefined, 'The handler threw undefined.'],
    [null, 'The handler threw null.'],
    [42, 'The handler threw 42.'],
    [5n, 'The handler threw 5.'],
    [Symbol('x'), 'The handler threw Symbol(x).'],
    ['text', 'text'],
    ['', 'The handler threw an empty string.'],
    [() => 1, 'The handler threw a function.'],
    [{ code: 'E1', token: 'secret' }, 'The handler threw an object that is no Error (Object; fields: code, token).'],
    [Object.create(null), 'The handler threw an object that is no Error (without a class; fields: none).'],
    [{ message: 'like an error' }, 'like an error'],
  ])('is readable for %p', (thrown, text) => {
    expect(failureText(thrown)).toBe(text);
  });

  it('holds message and stack where somebody changed one of them', () => {
    const error = new Error('first');
    error.stack = 'Error: first\n    at charge';
    error.message = 'second';

    expect(failureText(error)).toBe('Error: second\nError: first\n    at charge');
  });

  it('follows causes, five of them', () => {
    let error = new Error('level 0');
    for (let level = 1; level <= 7; level++) error = new Error(`level ${level}`, { cause: error });

    const text = failureText(error);

    expect(text.match(/Caused by: Error: level \d/g)).toEqual(
      [6, 5, 4, 3, 2].map((level) => `Caused by: Error: level ${level}`),
    );
    expect(text).toMatch(/Caused by: and further causes$/);
  });

  it('ends where causes run in a circle', () => {
    const first = new Error('first');
    const second = new Error('second', { cause: first });
    first.cause = second;

    expect(failureText(first).match(/Caused by/g)).toHaveLength(1);
  });

  it('names the errors of an AggregateError, which may have no message of its own', () => {
    const error = new AggregateError([new Error('connect ECONNREFUSED ::1'), 'other']);

    expect(failureText(error)).toMatch(/\n- connect ECONNREFUSED ::1\n- other$/);
  });

  it('stores no fields of the error', () => {
    const error = Object.assign(new Error('failed'), { config: { auth: 'hunter2' } });

    expect(failureText(error)).not.toContain('hunter2');
  });

  it.each<[string, () => unknown]>([
    ['a message getter that throws', () => Object.defineProperty(new Error('x'), 'message', { get: thrower })],
    ['a stack getter that throws', () => Object.defineProperty(new Error('x'), 'stack', { get: thrower })],
    ['a cause getter that throws', () => Object.defineProperty(new Error('x'), 'cause', { get: thrower })],
    ['a frozen error', () => Object.freeze(new Error('x'))],
    ['a revoked proxy', () => revoked()],
    [
      'a proxy that throws at everything',
      () => new Proxy({}, { get: thrower, getPrototypeOf: thrower, ownKeys: thrower }),
    ],
    ['numbers for texts', () => Object.assign(new Error('x'), { message: 5, stack: 6, name: 7 })],
  ])('survives %s', (_, make) => {
    expect(failureText(make()).trim()).not.toBe('');
  });

  it('is at most 8 KiB, cut at a whole character and marked as cut', () => {
    for (const unit of ['a', 'é', '€', '😀']) {
      const text = failureText(`x${unit.repeat(10_000)}`);

      expect(bytes(text)).toBeLessThanOrEqual(FAILURE_TEXT_BYTES);
      expect(bytes(text)).toBeGreaterThan(FAILURE_TEXT_BYTES - 20);
      expect(text).toMatch(/… \[cut\]$/);
      expect(text).not.toContain('\uFFFD');
    }
  });

  it('replaces what databases cannot store', () => {
    expect(failureText('a\u0000b\ud800c😀')).toBe('a\uFFFDb\uFFFDc😀');
  });

  it('is short, storable and not empty for whatever is thrown', () => {
    assert(
      property(anything({ withBoxedValues: true, withNullPrototype: true }), (thrown) => {
        const text = failureText(thrown);

        expect(text.trim()).not.toBe('');
        expect(bytes(text)).toBeLessThanOrEqual(FAILURE_TEXT_BYTES);
        expect(text).not.toMatch(/\0|\p{Surrogate}/u);
      }),
    );
    assert(
      property(
        string({ unit: 'binary', maxLength: 100 }),
        string({ unit: 'grapheme', maxLength: 200 }),
        (message, text) => {
          expect(failureText(new Error(message))).not.toMatch(/\0|\p{Surrogate}/u);
          expect(bytes(cutText(text, 50))).toBeLessThanOrEqual(50);
        },
      ),
    );
  });
});

function thrower(): never {
  throw new Error('from a getter');
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
