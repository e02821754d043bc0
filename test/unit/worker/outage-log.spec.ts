import { OutageLog } from '../../../lib/worker/outage-log';

function aLog() {
  const lines: string[] = [];
  const write = (level: string) => (message: string) => lines.push(`${level}: ${message}`);
  const time = { now: 0 };
  const logger = { error: write('error'), warn: write('warn'), log: write('log'), debug: write('debug') };
  return { lines, time, log: new OutageLog(logger, () => time.now) };
}

describe('OutageLog', () => {
  it('writes a line a second at most, and says how many calls failed in between', () => {
    const { lines, time, log } = aLog();

    for (time.now = 0; time.now < 2000; time.now += 10) log.failed('claim', new Error('connection refused'));

    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe('error: The store failed at "claim", which is tried again: connection refused');
    expect(lines[1]).toContain('(100 failed calls since the last line)');
  });

  it('says once that the store answers again', () => {
    const { lines, time, log } = aLog();
    log.failed('claim', new Error('connection refused'));
    time.now = 2500;
    log.failed('apply', new Error('connection refused'));

    for (time.now = 2500; time.now < 6000; time.now += 100) log.answered();

    expect(lines.slice(2)).toEqual(['log: The store answers again: 2 calls failed within 3.5 s.']);
  });

  it('writes no more than that where calls fail and succeed in turn', () => {
    const { lines, time, log } = aLog();

    for (time.now = 0; time.now < 5000; time.now += 10) {
      log.failed('claim', new Error('connection refused'));
      log.answered();
    }

    expect(lines).toHaveLength(5);
  });

  it('copes with whatever was thrown', () => {
    const { lines, log } = aLog();

    log.failed('claim', {
      toString() {
        throw new Error('no text');
      },
    });

    expect(lines[0]).toContain('an error that cannot be shown');
  });
});
