import { Injectable } from '@nestjs/common';
import { Job, Retry } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

class UnreadableError extends Error {
  override get message(): string {
    throw new Error('This message cannot be read');
  }
}

/** Made anew for each throw, as an application would. */
const THROWN: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  text: () => 'The courier is gone',
  'empty text': () => '',
  number: () => 42,
  object: () => ({ code: 1 }),
  'object without prototype': () => Object.create(null) as unknown,
  symbol: () => Symbol('courier'),
  function: () => function courier() {},
  'frozen error': () => Object.freeze(new Error('The courier is gone')),
  'error whose message throws': () => new UnreadableError(),
  'error that is its own cause': () => {
    const error = new Error('The courier is gone');
    error.cause = error;
    return error;
  },
  'proxy that refuses everything': () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error('get');
        },
        getPrototypeOf() {
          throw new Error('getPrototypeOf');
        },
        ownKeys() {
          throw new Error('ownKeys');
        },
      },
    ),
};

const TWICE = { retry: Retry.fixed(0, 2) };

@Injectable()
class Couriers {
  readonly executions: string[] = [];

  @Job(TWICE)
  synchronously(kind: string): void {
    this.executions.push(`synchronously ${kind}`);
    throw THROWN[kind]!();
  }

  @Job(TWICE)
  async asynchronously(kind: string): Promise<void> {
    this.executions.push(`asynchronously ${kind}`);
    await Promise.resolve();
    throw THROWN[kind]!();
  }

  @Job(TWICE)
  async beforeAwaiting(kind: string): Promise<void> {
    this.executions.push(`beforeAwaiting ${kind}`);
    throw THROWN[kind]!();
  }

  @Job(TWICE)
  rejecting(kind: string): PromiseLike<void> {
    this.executions.push(`rejecting ${kind}`);
    // oxlint-disable-next-line unicorn/no-thenable -- a handler may return any thenable
    return { then: (_, reject) => Promise.resolve(reject!(THROWN[kind]!())) as never };
  }

  @Job()
  returning(): number {
    this.executions.push('returning');
    return 42;
  }
}

const WAYS = ['synchronously', 'asynchronously', 'beforeAwaiting', 'rejecting'] as const;

describe('a handler that throws something other than an Error', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('fails as any other: as often as its policy says, with a readable reason, however it throws', async () => {
      await using node = await RunningNode.start({ store: freshStore(), providers: [Couriers] });
      const ids = new Map<string, string>();
      for (const kind of Object.keys(THROWN)) {
        for (const way of WAYS) {
          ids.set(`${way} ${kind}`, await node.jobs.enqueue(Couriers, (couriers) => couriers[way](kind) as void));
        }
      }
      await node.allEnded();

      const { executions } = node.get(Couriers);
      for (const kind of Object.keys(THROWN)) {
        const records = await Promise.all(WAYS.map((way) => node.jobs.getJob(ids.get(`${way} ${kind}`)!)));
        const headlines = records.map((job) => job!.lastError!.split('\n')[0]);

        for (const way of WAYS) expect(executions.filter((name) => name === `${way} ${kind}`)).toHaveLength(2);
        for (const job of records) {
          expect(job).toMatchObject({ state: JobState.Dead, attempt: 2, failures: 2 });
          expect(job!.attempts).toHaveLength(2);
        }
        expect(headlines[0]!.trim()).not.toBe('');
        expect(headlines).toEqual(Array(WAYS.length).fill(headlines[0]));
      }
    });

    it('does not keep the worker from the next job, nor from one that returns no promise', async () => {
      await using node = await RunningNode.start({ store: freshStore(), maxParallelism: 1, providers: [Couriers] });

      await node.jobs.enqueue(Couriers, (couriers) => couriers.synchronously('error whose message throws'));
      const id = await node.jobs.enqueue(Couriers, (couriers) => couriers.returning());
      const job = await node.ended(id);

      expect(job).toMatchObject({ state: JobState.Succeeded, attempt: 1 });
      expect(node.get(Couriers).executions).toContain('returning');
    });
  });

  describeOnStores(['sqlite'], (freshStore) => {
    it('has no promise that nobody awaits booked on any job, and Millrace makes none itself', async () => {
      await using node = await ChildNode.start({ store: freshStore(), options: { maxParallelism: 1 } });

      const stray = await node.call('stray', 'stray');
      const labels = Array.from({ length: 20 }, (_, index) => `after ${index}`);
      const ids = [stray, ...(await node.call('notes', labels)), await node.call('fail', 'fails')];
      await eventually(() => expect(node.uncaught).toHaveLength(1));
      const jobs = await eventually(async () => {
        const found = await Promise.all(ids.map((id) => node.call('getJob', id)));
        expect(found.at(-1)!.state).toBe(JobState.Dead);
        return found;
      });

      expect(jobs.slice(0, -1).map((job) => job!.state)).toEqual(Array(ids.length - 1).fill(JobState.Succeeded));
      expect(node.uncaught[0]).toContain('unhandledRejection: Error: Nobody awaits this');
    });
  });
});
