import { Injectable } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry, RetryAfterError, SnoozeError, UnrecoverableJobError } from 'nestjs-millrace';
import { FakeClock, JobState, MINUTE, SECOND } from 'nestjs-millrace/storage';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

class NotFound extends Error {}

@Injectable()
class Imports {
  readonly attempts: number[] = [];
  ready = false;

  @Job({ retry: Retry.exponential(5, '1m') })
  async unreadable(): Promise<void> {
    throw new UnrecoverableJobError('The file is no CSV', { cause: new Error('line 1') });
  }

  @Job({ retry: Retry.exponential(3, '1m') })
  async throttled(): Promise<void> {
    throw new RetryAfterError('17s', 'Too many requests');
  }

  @Job({ retry: Retry.none })
  async notReady(@JobCtx() ctx?: JobContext): Promise<void> {
    this.attempts.push(ctx!.attempt);
    if (!this.ready) throw new SnoozeError('1m');
  }

  @Job({ retry: Retry.exponential(3, '1m'), retryIf: (error) => !(error instanceof NotFound) })
  async choosy(what: 'missing' | 'busy'): Promise<void> {
    throw what === 'missing' ? new NotFound('Gone') : new Error('Busy');
  }

  @Job({
    retry: Retry.exponential(3, '1m'),
    retryIf: () => {
      throw new Error('Cannot tell');
    },
  })
  async undecided(): Promise<void> {
    throw new Error('Busy');
  }

  @Job({ retry: Retry.jittered(5, '1m') })
  async flaky(): Promise<void> {
    throw new Error('Busy');
  }
}

const NOON = new Date('2026-03-01T12:00:00.000Z');

describe('what a handler says of its own failure', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = (clock: FakeClock) =>
      RunningNode.start({ store: freshStore(), clock, schedulerEnabled: false, providers: [Imports] });

    it('ends it at once when it is unrecoverable, whatever its retries', async () => {
      await using node = await start(new FakeClock(NOON));

      const job = await node.ended(await node.jobs.enqueue(Imports, (imports) => imports.unreadable()));

      expect(job).toMatchObject({ state: JobState.Dead, attempt: 1, failures: 1 });
      expect(job.lastError).toMatch(/The file is no CSV[^]*line 1/);
      expect(job.attempts).toMatchObject([{ attempt: 1, outcome: 'Failed' }]);
    });

    it('is tried again when it says, as often as its policy allows', async () => {
      const clock = new FakeClock(NOON);
      await using node = await start(clock);
      const id = await node.jobs.enqueue(Imports, (imports) => imports.throttled());
      await node.settled();

      expect(await node.jobs.getJob(id)).toMatchObject({
        state: JobState.Failed,
        dueAt: new Date(NOON.getTime() + 17 * SECOND),
        failures: 1,
      });

      for (let round = 0; round < 2; round++) {
        clock.advance(17 * SECOND);
        await node.runSchedulerPass();
        await node.settled();
      }
      expect(await node.jobs.getJob(id)).toMatchObject({ state: JobState.Dead, attempt: 3, failures: 3 });
    });

    it('comes back later without counting as a failure when it is put off', async () => {
      const clock = new FakeClock(NOON);
      await using node = await start(clock);
      const id = await node.jobs.enqueue(Imports, (imports) => imports.notReady());
      await node.settled();

      for (let round = 1; round <= 3; round++) {
        expect(await node.jobs.getJob(id)).toMatchObject({
          state: JobState.Scheduled,
          dueAt: new Date(clock.now().getTime() + MINUTE),
          failures: 0,
          releases: round,
        });
        node.get(Imports).ready = round === 3;
        clock.advance(MINUTE);
        await node.runSchedulerPass();
        await node.settled();
      }

      expect(await node.jobs.getJob(id)).toMatchObject({ state: JobState.Succeeded, failures: 0, attempts: [] });
      expect(node.get(Imports).attempts).toEqual([1, 2, 3, 4]);
    });

    it('is retried only if retryIf of its handler says so', async () => {
      await using node = await start(new FakeClock(NOON));

      const missing = await node.jobs.enqueue(Imports, (imports) => imports.choosy('missing'));
      const busy = await node.jobs.enqueue(Imports, (imports) => imports.choosy('busy'));
      await node.settled();

      expect(await node.jobs.getJob(missing)).toMatchObject({ state: JobState.Dead, attempt: 1, failures: 1 });
      expect(await node.jobs.getJob(busy)).toMatchObject({ state: JobState.Failed, failures: 1 });
    });

    it('is retried when retryIf itself throws, and the log says so', async () => {
      await using node = await start(new FakeClock(NOON));

      const id = await node.jobs.enqueue(Imports, (imports) => imports.undecided());
      await node.settled();

      expect(await node.jobs.getJob(id)).toMatchObject({ state: JobState.Failed, failures: 1 });
      expect(node.log.complaints('Cannot tell')).toHaveLength(1);
    });

    it('spreads the retries of jobs that failed together when its policy has jitter', async () => {
      await using node = await start(new FakeClock(NOON));
      const ids = await Promise.all(
        Array.from({ length: 20 }, () => node.jobs.enqueue(Imports, (imports) => imports.flaky())),
      );
      await node.settled();

      const jobs = await Promise.all(ids.map(async (id) => (await node.jobs.getJob(id))!));
      const delays = jobs.map(({ dueAt }) => dueAt!.getTime() - NOON.getTime());

      expect(jobs[0]!.retry).toEqual(Retry.jittered(5, '1m'));
      expect(new Set(delays).size).toBeGreaterThan(10);
      for (const delay of delays) {
        expect(delay).toBeGreaterThanOrEqual(MINUTE / 2);
        expect(delay).toBeLessThanOrEqual(MINUTE);
      }
    });
  });
});
