import { LATEST_INSTANT, newId, newJob, Retry } from 'nestjs-millrace/storage';
import {
  cancelled,
  dead,
  failed,
  missingHandler,
  poisoned,
  putBack,
  released,
  succeeded,
  verdictOf,
} from '../../../lib/worker/job-outcomes';
import { aClaimedJob } from './claimed-job';

const now = new Date('2026-03-01T12:00:00.000Z');

describe('What becomes of a claimed job before it runs', () => {
  const clean = { cancelRequested: false, closing: false, interruptions: 0 };

  it('runs a job that nothing speaks against', () => {
    expect(verdictOf(clean, true, 10)).toBe('run');
  });

  it.each([{ cancelRequested: true }, { closing: true }])(
    'ends a job unexecuted that was asked to stop: %o',
    (flag) => {
      expect(verdictOf({ ...clean, ...flag, interruptions: 99 }, true, 10)).toBe('cancel');
    },
  );

  it('leaves the end of a step whose scope ends to a node that knows its workflow', () => {
    expect(verdictOf({ ...clean, closing: true }, false, 10)).toBe('putBack');
    expect(verdictOf({ ...clean, closing: true, cancelRequested: true }, false, 10)).toBe('cancel');
  });

  it('puts a job without handler back before its interruptions are looked at', () => {
    expect(verdictOf({ ...clean, interruptions: 99 }, false, 10)).toBe('putBack');
  });

  it('takes a job as poisoned above the limit, and runs it at the limit', () => {
    expect(verdictOf({ ...clean, interruptions: 11 }, true, 10)).toBe('poison');
    expect(verdictOf({ ...clean, interruptions: 10 }, true, 10)).toBe('run');
  });
});

describe('How an execution ends', () => {
  it('succeeds with the jobs that its handler added, its failures unchanged', () => {
    const job = aClaimedJob({ attempt: 3, failures: 1, instanceId: newId(now) });
    const followUp = newJob({ ...job, id: newId(now) });

    const transition = succeeded(job, 'w1', [followUp]);

    expect(transition).toEqual({
      id: job.id,
      workerId: 'w1',
      attempt: 3,
      target: 'Succeeded',
      failures: 1,
      dueAt: null,
      error: null,
      history: null,
      enqueue: [followUp],
      instanceId: job.instanceId,
      advance: null,
    });
  });

  it('fails until the next attempt of its policy, with one more failure and a row of history', () => {
    const job = aClaimedJob({ failures: 1, retry: Retry.exponential(5) });

    const transition = failed(job, 'w1', 'boom', now);

    expect(transition).toMatchObject({ target: 'Failed', failures: 2, error: 'boom', history: 'Failed', enqueue: [] });
    expect(transition.dueAt).toEqual(new Date('2026-03-01T12:00:10.000Z'));
  });

  it('dies with the failure that its policy allows no further attempt for', () => {
    const job = aClaimedJob({ failures: 4, retry: Retry.exponential(5) });

    const transition = failed(job, 'w1', 'boom', now);

    expect(transition).toMatchObject({ target: 'Dead', failures: 5, dueAt: null, error: 'boom', history: 'Failed' });
  });

  it('waits no longer than until the last instant that a store can hold', () => {
    const job = aClaimedJob({ retry: Retry.fixed(2 ** 52, 3) });

    expect(failed(job, 'w1', 'boom', now).dueAt).toEqual(LATEST_INSTANT);
  });

  it('dies at once of what no retry can mend', () => {
    const job = aClaimedJob({ retry: Retry.exponential(5) });

    expect(dead(job, 'w1', 'boom')).toMatchObject({ target: 'Dead', failures: 1, error: 'boom', history: 'Failed' });
  });

  it('is cancelled without counting a failure or leaving history', () => {
    const transition = cancelled(aClaimedJob({ failures: 2 }), 'w1');

    expect(transition).toMatchObject({
      target: 'Cancelled',
      failures: 2,
      error: 'Cancelled on request.',
      history: null,
    });
  });

  it.each([
    { started: true, history: 'Interrupted' },
    { started: false, history: null },
  ])('is given back without spending a budget: $started', ({ started, history }) => {
    const transition = released(aClaimedJob({ failures: 2, interruptions: 3 }), 'w1', started);

    expect(transition).toMatchObject({ target: 'Enqueued', failures: 2, dueAt: null, error: null, history });
  });

  it.each([
    [0, 5],
    [1, 10],
    [2, 20],
    [3, 40],
    [4, 60],
    [400, 60],
  ])('is put back after %i releases for %i s, naming the handler that is missing', (releases, seconds) => {
    const transition = putBack(aClaimedJob({ releases, failures: 2 }), 'w1', missingHandler('Mailer.send'), now);

    expect(transition).toMatchObject({ target: 'Scheduled', failures: 2, history: null });
    expect(transition.dueAt?.getTime()).toBe(now.getTime() + seconds * 1000);
    expect(transition.error).toContain('"Mailer.send"');
  });

  it('dies poisoned with its failures unchanged, naming the counts', () => {
    const transition = poisoned(aClaimedJob({ interruptions: 11, attempt: 14, failures: 2 }), 'w1', 10);

    expect(transition).toMatchObject({ target: 'Dead', failures: 2, history: null });
    expect(transition.error).toMatch(/Poisoned: 11 executions .* limit of 10 \(14 claims, 2 recorded failures\)/);
  });
});
