import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { IJobClient, Job, type JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { ChildNode } from '../support/child-node';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores, type StoreAddress } from '../support/stores';
import { programFile, RUN_TYPESCRIPT } from '../support/typescript-programs';

const run = promisify(execFile);

/** The same job as that of the child process, on a node that takes no time for it. */
@Injectable()
class ProgramJobs {
  @Job()
  async wait(): Promise<void> {}
}

@Injectable()
class Exports {
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly aborted: string[] = [];
  /** Lets the executions of `take` end. */
  letGo: () => void = () => undefined;
  private readonly free = new Promise<void>((resolve) => (this.letGo = resolve));

  constructor(@Inject(IJobClient) private readonly jobs: IJobClient) {}

  /** Its first execution never settles, and looks at its signal without obeying it. */
  @Job({ retry: Retry.none })
  async hang(@JobCtx() ctx?: JobContext): Promise<void> {
    this.started.push(`hang ${ctx!.attempt}`);
    if (ctx!.attempt > 1) return;
    ctx!.signal.addEventListener('abort', () => this.aborted.push((ctx!.signal.reason as { code: string }).code));
    await new Promise(() => undefined);
  }

  @Job({ retry: Retry.none })
  async take(label: string): Promise<void> {
    this.started.push(label);
    await this.free;
    await this.jobs.enqueue(Exports, (exports) => exports.note(`${label}, followed`));
    this.ended.push(label);
  }

  @Job()
  async note(label: string): Promise<void> {
    this.ended.push(label);
  }
}

describe('a shutdown that could hang, or cut off work', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore, kind) => {
    const start = (store: StoreAddress, options: object = {}) =>
      RunningNode.start({ store, maxParallelism: 2, providers: [Exports], ...options });

    it('ends within its bounds beside a handler that never settles, whose job another node then runs', async () => {
      const store = freshStore();
      await using node = await start(store, { shutdownTimeout: 300, shutdownGrace: 300 });
      const hanging = await node.jobs.enqueue(Exports, (exports) => exports.hang());
      await eventually(() => expect(node.get(Exports).started).toEqual(['hang 1']));
      // One slot of two is gone; the other does all the rest.
      for (let index = 0; index < 20; index++) {
        await node.jobs.enqueue(Exports, (exports) => exports.note(`short ${index}`));
      }
      await eventually(() => expect(node.get(Exports).ended).toHaveLength(20));

      const closingAt = performance.now();
      await node.close();
      const took = performance.now() - closingAt;
      await using other = await start(store);
      const job = await other.ended(hanging);

      expect(took).toBeLessThan(12_000); // by default it would wait for 15 s
      expect(node.get(Exports).aborted).toEqual(['MILLRACE_JOB_ABORTED']);
      expect(job).toMatchObject({ state: JobState.Succeeded, attempt: 2, failures: 0, interruptions: 0, releases: 1 });
    });

    it('lets a handler finish that enqueues at its end, and claims nothing any more', async () => {
      const store = freshStore();
      await using node = await start(store, { maxParallelism: 1 });
      await using producer = await start(store, { workerEnabled: false, schedulerEnabled: false });
      const draining = await node.jobs.enqueue(Exports, (exports) => exports.take('draining'));
      await eventually(() => expect(node.get(Exports).started).toEqual(['draining']));
      const waiting = await producer.jobs.enqueue(Exports, (exports) => exports.note('waiting'));

      await node.beginClosing();
      const late = await producer.jobs.enqueue(Exports, (exports) => exports.note('late'));
      node.get(Exports).letGo();
      await node.close();
      const states = await Promise.all(
        [draining, waiting, late].map(async (id) => (await producer.jobs.getJob(id))!.state),
      );
      const stored = await producer.everyJob();

      expect(node.get(Exports).ended).toEqual(['draining']);
      expect(states).toEqual([JobState.Succeeded, JobState.Enqueued, JobState.Enqueued]);
      expect(stored.map(({ state }) => state).toSorted()).toEqual(
        [JobState.Succeeded, JobState.Enqueued, JobState.Enqueued, JobState.Enqueued].toSorted(),
      );
      await using successor = await start(store);
      await successor.allEnded();
      expect(successor.get(Exports).ended.toSorted()).toEqual(['draining, followed', 'late', 'waiting']);
    });

    it('gives back what was claimed ahead and has not begun', async () => {
      const store = freshStore();
      await using producer = await start(store, { workerEnabled: false, schedulerEnabled: false });
      const enqueueNotes = async (name: string) => {
        for (let index = 0; index < 300; index++) await producer.jobs.enqueue(Exports, (exports) => exports.note(name));
      };
      await enqueueNotes('before'); // quick ones, of which many are claimed at a time
      await producer.jobs.enqueue(Exports, (exports) => exports.take('in between'));
      await enqueueNotes('after');
      await using node = await start(store, { maxParallelism: 1 });
      await eventually(() => expect(node.get(Exports).started).toEqual(['in between']));

      await node.beginClosing();
      node.get(Exports).letGo();
      await node.close();
      const processing = await producer.countOf(JobState.Processing);
      await using successor = await start(store);
      await successor.allEnded();

      expect(node.get(Exports).ended).not.toContain('after');
      expect(processing).toBe(0);
      expect(successor.get(Exports).ended.filter((name) => name === 'after')).toHaveLength(300);
    });

    it('leaves nothing behind that keeps the process alive', async () => {
      const ended = run(process.execPath, [...RUN_TYPESCRIPT, programFile('one-job-and-out')], {
        env: { ...process.env, MILLRACE_PROGRAM: JSON.stringify(freshStore()) },
        timeout: 30_000,
      });

      await expect(ended).resolves.toMatchObject({ stderr: '' });
    });

    if (kind === 'memory') return; // what follows takes two processes

    it('costs nothing but time where the shutdown hooks are off and SIGTERM ends the process', async () => {
      const store = freshStore();
      await using child = await ChildNode.start({
        store,
        options: { leaseDuration: '2s', heartbeatInterval: '500ms' },
        shutdownHooks: false,
      });
      const id = await child.call('wait', 'cut off', 60_000);
      await eventually(() => expect(child.labels('started')).toEqual(['cut off']));

      await child.terminate();
      await using successor = await RunningNode.start({ store, providers: [ProgramJobs] });
      const job = await successor.ended(id);

      expect(child.ending).toBe('SIGTERM');
      expect(job).toMatchObject({ state: JobState.Succeeded, attempt: 2, interruptions: 1, failures: 0 });
    });

    it('drains on SIGTERM where the shutdown hooks are on', async () => {
      const store = freshStore();
      await using child = await ChildNode.start({ store });
      await using observer = await start(store, { workerEnabled: false, schedulerEnabled: false });
      const id = await child.call('wait', 'drained', 500);
      await eventually(() => expect(child.labels('started')).toEqual(['drained']));

      await child.terminate();

      expect(await observer.jobs.getJob(id)).toMatchObject({ state: JobState.Succeeded, attempt: 1 });
    });
  });
});
