import { type Arbitrary, assert, constantFrom, integer, oneof, property, tuple } from 'fast-check';
import { InvalidCronError } from '../../../lib/model/errors';
import { CronExpression } from '../../../lib/model/cron-expression';
import { cronOracle } from './cron-oracle';

const at = (text: string): Date => new Date(text);

function fields(min: number, max: number): Arbitrary<string> {
  return oneof(
    constantFrom('*'),
    integer({ min, max }).map(String),
    integer({ min: 1, max: 12 }).map((step) => `*/${step}`),
    tuple(integer({ min, max }), integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    tuple(integer({ min, max }), integer({ min, max }), integer({ min: 1, max: 9 })).map(
      ([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}/${step}`,
    ),
    tuple(integer({ min, max }), integer({ min, max })).map(([a, b]) => `${a},${b}`),
    tuple(integer({ min, max }), integer({ min: 2, max: 9 })).map(([a, step]) => `${a},*/${step}`),
  );
}

/** The next occurrences after an instant, as ISO text to the minute. */
function next(expression: string, after: string, count: number): string[] {
  const cron = CronExpression.parse(expression);
  const found: string[] = [];
  for (let instant = cron.nextAfter(at(after)); instant !== null && found.length < count;) {
    found.push(instant.toISOString().replace(':00.000Z', 'Z'));
    instant = cron.nextAfter(instant);
  }
  return found;
}

describe('A cron expression', () => {
  it.each([
    ['* * * * *', '2026-03-01T10:15:30Z', '2026-03-01T10:16Z'],
    ['* * * * *', '2026-03-01T10:15:00Z', '2026-03-01T10:16Z'],
    ['5-59/15 * * * *', '2026-03-01T10:50:00Z', '2026-03-01T11:05Z'],
    ['0 8-18/2 * * *', '2026-03-01T18:00:00Z', '2026-03-02T08:00Z'],
    ['0 0 29 2 *', '2026-07-24T00:00:00Z', '2028-02-29T00:00Z'],
    ['0 0 13 * */2', '2026-08-01T00:00:00Z', '2026-08-13T00:00Z'],
    ['0 0 */2 * *', '2026-08-02T00:00:00Z', '2026-08-03T00:00Z'],
    ['0 3 * * *', '2026-12-31T03:00:00Z', '2027-01-01T03:00Z'],
    ['59 23 31 12 *', '2026-01-01T00:00:00Z', '2026-12-31T23:59Z'],
  ])('%s follows %s with %s', (expression, after, expected) => {
    expect(next(expression, after, 1)).toEqual([expected]);
  });

  it('fires on either day where both day fields are restricted', () => {
    expect(next('0 0 13 * FRI', '2026-08-01T00:00:00Z', 2)).toEqual(['2026-08-07T00:00Z', '2026-08-13T00:00Z']);
    expect(next('0 5 2-8 * 4', '2021-01-09T17:48:00Z', 6)).toEqual([
      '2021-01-14T05:00Z',
      '2021-01-21T05:00Z',
      '2021-01-28T05:00Z',
      '2021-02-02T05:00Z',
      '2021-02-03T05:00Z',
      '2021-02-04T05:00Z',
    ]);
    expect(next('0 4 1 * 1-5', '2019-10-01T05:00:00Z', 4)).toEqual([
      '2019-10-02T04:00Z',
      '2019-10-03T04:00Z',
      '2019-10-04T04:00Z',
      '2019-10-07T04:00Z',
    ]);
    expect(next('0 0 1-31 * 1', '2026-08-01T00:00:00Z', 2)).toEqual(['2026-08-02T00:00Z', '2026-08-03T00:00Z']);
  });

  it('fires on the day of the week alone where the day of the month is free', () => {
    expect(next('0 0 * 6 1', '2021-04-13T00:00:00Z', 5)).toEqual([
      '2021-06-07T00:00Z',
      '2021-06-14T00:00Z',
      '2021-06-21T00:00Z',
      '2021-06-28T00:00Z',
      '2022-06-06T00:00Z',
    ]);
  });

  it('needs both days where one of the day fields starts with a star', () => {
    expect(next('0 0 */2 * MON', '2026-08-01T00:00:00Z', 3)).toEqual([
      '2026-08-03T00:00Z',
      '2026-08-17T00:00Z',
      '2026-08-31T00:00Z',
    ]);
  });

  it.each(['0', '7', 'SUN', 'sun'])('takes %s for Sunday', (sunday) => {
    expect(next(`0 0 * * ${sunday}`, '2026-08-01T00:00:00Z', 2)).toEqual(['2026-08-02T00:00Z', '2026-08-09T00:00Z']);
  });

  it('takes ranges that end on Sunday, and names in any case', () => {
    expect(next('0 0 * * 5-7', '2026-08-01T00:00:00Z', 4)).toEqual([
      '2026-08-02T00:00Z',
      '2026-08-07T00:00Z',
      '2026-08-08T00:00Z',
      '2026-08-09T00:00Z',
    ]);
    expect(next('0 0 1 Jan-MAR *', '2026-03-01T00:00:00Z', 1)).toEqual(['2027-01-01T00:00Z']);
  });

  it.each([
    ['@hourly', '2026-08-01T10:20:00Z', '2026-08-01T11:00Z'],
    ['@daily', '2026-08-01T10:20:00Z', '2026-08-02T00:00Z'],
    ['@weekly', '2026-08-01T10:20:00Z', '2026-08-02T00:00Z'],
    ['@monthly', '2026-08-01T10:20:00Z', '2026-09-01T00:00Z'],
    ['@yearly', '2026-08-01T10:20:00Z', '2027-01-01T00:00Z'],
  ])('knows the nickname %s', (nickname, after, expected) => {
    expect(next(nickname, after, 1)).toEqual([expected]);
  });

  it('takes items of a list that overlap', () => {
    expect(next('0,*/30,30,0-1 * * * *', '2026-08-01T00:30:00Z', 3)).toEqual([
      '2026-08-01T01:00Z',
      '2026-08-01T01:01Z',
      '2026-08-01T01:30Z',
    ]);
  });

  it('separates fields by blanks and tabs, and keeps its text as it was', () => {
    const cron = CronExpression.parse(' 0\t3  * * * ');

    expect(cron.text).toBe(' 0\t3  * * * ');
    expect(cron.nextAfter(at('2026-08-01T00:00:00Z'))).toEqual(at('2026-08-01T03:00:00Z'));
  });

  it('fires once a day at the same UTC time across the changes of local clocks', () => {
    for (const [from, days] of [
      ['2025-03-08T00:00:00Z', 4],
      ['2025-11-01T00:00:00Z', 4],
    ] as const) {
      const daily = next('30 2 * * *', from, days);
      const hourly = next('0 * * * *', from, 24 * days);

      expect(daily.map((instant) => instant.slice(11))).toEqual(Array(days).fill('02:30Z'));
      expect(new Set(daily.map((instant) => instant.slice(0, 10))).size).toBe(days);
      expect(new Set(hourly).size).toBe(24 * days);
    }
  });

  it.each([
    ['* * * *', null],
    ['0 * * * * *', null],
    ['', null],
    ['60 * * * *', 'minute'],
    ['* 24 * * *', 'hour'],
    ['* * 0 * *', 'day of month'],
    ['* * 32 * *', 'day of month'],
    ['* * * 13 *', 'month'],
    ['* * * * 8', 'day of week'],
    ['*/0 * * * *', 'minute'],
    ['5-1 * * * *', 'minute'],
    ['0 0 * * FRI-SUN', 'day of week'],
    ['5/15 * * * *', 'minute'],
    ['1,,2 * * * *', 'minute'],
    ['1, * * * *', 'minute'],
    [',1 * * * *', 'minute'],
    ['1-2-3 * * * *', 'minute'],
    ['-1 * * * *', 'minute'],
    ['+1 * * * *', 'minute'],
    ['*/-1 * * * *', 'minute'],
    ['/5 * * * *', 'minute'],
    ['*-5 * * * *', 'minute'],
    ['1.5 * * * *', 'minute'],
    ['MON * * * *', 'minute'],
    ['* * * FOO *', 'month'],
    ['* * * JANUARY *', 'month'],
    ['* * * * MONDAY', 'day of week'],
    ['* * * MON *', 'month'],
    ['* * ? * *', 'day of month'],
    ['* * L * *', 'day of month'],
    ['* * 15W * *', 'day of month'],
    ['* * * * 5L', 'day of week'],
    ['* * * * 5#3', 'day of week'],
    ['H * * * *', 'minute'],
    ['0 0 30 2 *', 'day of month'],
    ['0 0 31 4 *', 'day of month'],
    ['0 0 31 2,4,6 *', 'day of month'],
    ['@reboot', null],
    ['@secondly', null],
    ['constructor', null],
    ['0\n0 * * *', null],
    [`${'1,'.repeat(600)}1 * * * *`, null],
  ])('refuses %j and names the field: %s', (expression, field) => {
    let error: unknown;
    try {
      CronExpression.parse(expression);
    } catch (thrown) {
      error = thrown;
    }

    expect(error).toBeInstanceOf(InvalidCronError);
    expect(error).toMatchObject({ field });
    expect((error as Error).message).toContain(expression.slice(0, 40));
    if (field !== null) expect((error as Error).message).toContain(field);
  });

  it.each([null, undefined, 5, {}])('refuses %s, which is no text', (value) => {
    expect(() => CronExpression.parse(value as string)).toThrow(InvalidCronError);
  });

  it('accepts an impossible day of the month where the day of the week helps out', () => {
    expect(next('0 0 31 2 MON', '2026-02-01T00:00:00Z', 2)).toEqual(['2026-02-02T00:00Z', '2026-02-09T00:00Z']);
  });

  it('looks eight years ahead and no further', () => {
    const leapDay = CronExpression.parse('0 0 29 2 *');
    const leapSunday = CronExpression.parse('0 0 29 2 */7');

    expect(leapDay.nextAfter(at('2096-02-29T00:00:00Z'))).toEqual(at('2104-02-29T00:00:00Z'));
    expect(leapSunday.nextAfter(at('2004-03-01T00:00:00Z'))).toBeNull();
    expect(() => leapSunday.firstAfter(at('2004-03-01T00:00:00Z'))).toThrow(/no occurrence within 8 years/);
  });

  it('ends with the last year that stores can hold', () => {
    expect(CronExpression.parse('@yearly').nextAfter(at('9999-06-01T00:00:00Z'))).toBeNull();
  });

  it('answers within a second, whatever it is asked', () => {
    const started = performance.now();

    CronExpression.parse('59 23 29 2 */7').nextAfter(at('2004-03-01T00:00:00Z'));
    CronExpression.parse(`${'0-59,*/7,'.repeat(100)}1 * * * *`).nextAfter(at('1970-01-01T00:00:00Z'));
    CronExpression.parse(Array.from({ length: 330 }, (_, item) => item % 60).join(',') + ' * * * *');

    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('agrees with a search minute by minute', () => {
    const expressions = tuple(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 7)).map((all) =>
      all.join(' '),
    );
    const instants = integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2032, 0, 1) }).map((time) => new Date(time));

    assert(
      property(expressions, instants, (expression, after) => {
        const expected = cronOracle(expression, after);
        let actual: Date | null;
        try {
          actual = CronExpression.parse(expression).nextAfter(after);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidCronError);
          actual = null;
        }

        // The oracle looks two years ahead.
        if (expected !== null) expect(actual).toEqual(expected);
        else if (actual !== null) expect(actual.getTime()).toBeGreaterThan(after.getTime() + 2 * 365 * 86_400_000);
      }),
      { numRuns: 300 },
    );
  });
});
