const MINUTE = 60_000;
const YEARS = 2;

/**
 * The next occurrence by trying every minute, for expressions of plain numbers. Written from the manual page of vixie cron,
 * with nothing of the code that it judges.
 */
export function cronOracle(expression: string, after: Date): Date | null {
  const [minute, hour, dayOfMonth, month, dayOfWeek] = expression.split(' ') as [
    string,
    string,
    string,
    string,
    string,
  ];
  const both = dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*');
  const start = Math.floor(after.getTime() / MINUTE) * MINUTE + MINUTE;
  const end = start + YEARS * 366 * 1440 * MINUTE;
  for (let time = start; time < end; time += MINUTE) {
    const date = new Date(time);
    if (!holds(month, date.getUTCMonth() + 1, 1, 12)) {
      time = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - MINUTE;
      continue;
    }
    const weekday = date.getUTCDay();
    const isWeekday = holds(dayOfWeek, weekday, 0, 7) || (weekday === 0 && holds(dayOfWeek, 7, 0, 7));
    const isDay = holds(dayOfMonth, date.getUTCDate(), 1, 31);
    if (!(both ? isDay && isWeekday : isDay || isWeekday)) {
      time = Math.floor(time / (1440 * MINUTE)) * 1440 * MINUTE + 1440 * MINUTE - MINUTE;
      continue;
    }
    if (holds(hour, date.getUTCHours(), 0, 23) && holds(minute, date.getUTCMinutes(), 0, 59)) return date;
  }
  return null;
}

function holds(field: string, value: number, min: number, max: number): boolean {
  return field.split(',').some((item) => {
    const [range = '', step = '1'] = item.split('/');
    const [from = '', to = from] = range === '*' ? [String(min), String(max)] : range.split('-');
    return value >= Number(from) && value <= Number(to) && (value - Number(from)) % Number(step) === 0;
  });
}
