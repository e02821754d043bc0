import { CronExpressionParser } from 'cron-parser';
import { InvalidCronError } from './errors';
import { DAY, HOUR, LATEST_INSTANT, MINUTE } from './time';

const FIELDS = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const;
type Field = (typeof FIELDS)[number];

const PARSED_FIELDS = {
  minute: 'minute',
  hour: 'hour',
  'day of month': 'dayOfMonth',
  month: 'month',
  'day of week': 'dayOfWeek',
} as const;

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
]);

const MAX_LENGTH = 1024;
const HORIZON_YEARS = 8; // 29 February skips eight years around 1900 and 2100
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `*`, `a`, `a-b`, with a step behind `*` and `a-b` only. What a, b and the step may be, cron-parser knows. */
const LIST_ITEM = /^(?:\*(?:\/\d+)?|(?:\d+|[a-z]{3})(?:-(?:\d+|[a-z]{3})(?:\/\d+)?)?)$/i;

/**
 * Five-field vixie cron (or `@hourly @daily @weekly @monthly @yearly`), in UTC, to the minute.
 *
 * Where both day fields are restricted, either may match; a day field that starts with `*` (also as in an interval of
 * days) is not restricted, and then both must match. In the day of week 0 and 7 are Sunday; months and days have
 * three-letter names in any case.
 */
export class CronExpression {
  private constructor(
    /** As it was given. */
    readonly text: string,
    private readonly minutes: readonly number[],
    private readonly hours: readonly number[],
    private readonly daysOfMonth: ReadonlySet<number>,
    private readonly months: ReadonlySet<number>,
    private readonly daysOfWeek: ReadonlySet<number>,
    private readonly eitherDay: boolean,
  ) {}

  /** @throws {InvalidCronError} it is malformed, or means a date that no calendar has; the message names the field */
  static parse(text: string): CronExpression {
    if (typeof text !== 'string') throw invalid(String(text), null, 'it is no text');
    if (text.length > MAX_LENGTH)
      throw invalid(`${text.slice(0, 60)}…`, null, `it is longer than ${MAX_LENGTH} characters`);
    const fields = (NICKNAMES.get(text.trim()) ?? text).split(/[ \t]+/).filter((field) => field !== '');
    if (fields.length !== FIELDS.length) {
      throw invalid(text, null, `it has ${fields.length} fields instead of 5 (${FIELDS.join(', ')})`);
    }
    const [minutes, hours, daysOfMonth, months, daysOfWeek] = FIELDS.map((field, position) =>
      valuesOf(text, field, fields[position] as string),
    ) as [number[], number[], number[], number[], number[]];
    const restricted = (position: number): boolean => !(fields[position] as string).startsWith('*');
    const expression = new CronExpression(
      text,
      minutes,
      hours,
      new Set(daysOfMonth),
      new Set(months),
      new Set(daysOfWeek),
      restricted(2) && restricted(4),
    );
    if (!expression.hasDates()) throw invalid(text, 'day of month', 'no month that it names has such a day');
    return expression;
  }

  /** The first occurrence after an instant; null when there is none within eight years, or before year 10000. */
  nextAfter(instant: Date): Date | null {
    const from = (Math.floor(instant.getTime() / MINUTE) + 1) * MINUTE;
    const until = Math.min(yearsLater(instant, HORIZON_YEARS), LATEST_INSTANT.getTime());
    for (let day = Math.floor(from / DAY) * DAY; day <= until; day += DAY) {
      if (!this.matchesDay(new Date(day))) continue;
      const time = this.firstTimeOfDay(Math.max(from - day, 0));
      if (time !== null) return day + time <= until ? new Date(day + time) : null;
    }
    return null;
  }

  /**
   * Like {@link nextAfter}, for schedules that must have a next occurrence.
   *
   * @throws {InvalidCronError} there is none within eight years
   */
  firstAfter(instant: Date): Date {
    const next = this.nextAfter(instant);
    if (next === null) throw invalid(this.text, 'day of month', `it has no occurrence within ${HORIZON_YEARS} years`);
    return next;
  }

  private matchesDay(day: Date): boolean {
    if (!this.months.has(day.getUTCMonth() + 1)) return false;
    const dayOfMonth = this.daysOfMonth.has(day.getUTCDate());
    const dayOfWeek = this.daysOfWeek.has(day.getUTCDay());
    return this.eitherDay ? dayOfMonth || dayOfWeek : dayOfMonth && dayOfWeek;
  }

  /** Milliseconds into a day of the first minute at or after `from`; null when the day has none left. */
  private firstTimeOfDay(from: number): number | null {
    for (const hour of this.hours) {
      if ((hour + 1) * HOUR <= from) continue;
      const minute = this.minutes.find((candidate) => hour * HOUR + candidate * MINUTE >= from);
      if (minute !== undefined) return hour * HOUR + minute * MINUTE;
    }
    return null;
  }

  private hasDates(): boolean {
    if (this.eitherDay) return true;
    const firstDay = Math.min(...this.daysOfMonth);
    return [...this.months].some((month) => firstDay <= (LONGEST_MONTHS[month - 1] as number));
  }
}

/** The values that one field names, ascending. */
function valuesOf(expression: string, field: Field, text: string): number[] {
  const values = new Set<number>();
  for (const item of new Set(text.split(','))) {
    for (const value of itemValues(expression, field, text, item)) values.add(value);
  }
  return [...values].toSorted((a, b) => a - b);
}

/** cron-parser reads one item at a time: as a list it refuses items that overlap, and its errors name no field. */
function itemValues(expression: string, field: Field, text: string, item: string): number[] {
  const takesNames = field === 'month' || field === 'day of week';
  if (!LIST_ITEM.test(item) || (!takesNames && /[a-z]/i.test(item))) {
    throw invalid(expression, field, `"${text}" is no list of *, a, a-b, */n or a-b/n`);
  }
  const alone = FIELDS.map((other) => (other === field ? item : '*')).join(' ');
  try {
    const { values } = CronExpressionParser.parse(alone, { tz: 'UTC' }).fields[PARSED_FIELDS[field]];
    return values as number[]; // for Sunday, 0 is among them wherever 7 is
  } catch (error) {
    throw invalid(expression, field, `"${text}": ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

function yearsLater(instant: Date, years: number): number {
  const later = new Date(instant);
  later.setUTCFullYear(later.getUTCFullYear() + years);
  return later.getTime();
}

function invalid(expression: string, field: Field | null, problem: string, cause?: unknown): InvalidCronError {
  const where = field === null ? '' : `, ${field}`;
  const error = new InvalidCronError(
    `Cron expression "${expression}"${where}: ${problem}. Write minute, hour, day of month, month, day of week, in UTC.`,
    expression,
    field,
  );
  if (cause !== undefined) error.cause = cause;
  return error;
}
