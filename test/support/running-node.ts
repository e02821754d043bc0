import type { INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IJobClient, MillraceModule, type MillraceOptionsLayer } from 'nestjs-millrace';
import {
  IJobStorage,
  IMonitoringStorage,
  isTerminal,
  JOB_STATES,
  type JobDetails,
  JobState,
  type StorageRegistration,
} from 'nestjs-millrace/storage';
import { SchedulerService } from '../../lib/scheduler/scheduler.service';
import { ApplicationLifecycle } from '../../lib/worker/application-lifecycle';
import { eventually } from './eventually';
import { LogLines } from './log-lines';
import { QUICK, registrationOf, type StoreAddress, type StoreSettings } from './store-address';

export interface NodeSettings extends Omit<MillraceOptionsLayer, 'storage'> {
  readonly store: StoreAddress | StorageRegistration;
  readonly settings?: StoreSettings;
  readonly providers?: ModuleMetadata['providers'];
  readonly imports?: ModuleMetadata['imports'];
}

const ENDED: readonly JobState[] = [JobState.Succeeded, JobState.Dead, JobState.Cancelled];

/** A Nest application with Millrace in it, in this process; `await using` closes it. */
export class RunningNode implements AsyncDisposable {
  private closed: Promise<void> | null = null;

  private constructor(
    readonly app: INestApplicationContext,
    readonly log: LogLines,
  ) {}

  static async start({
    store,
    settings,
    providers = [],
    imports = [],
    ...options
  }: NodeSettings): Promise<RunningNode> {
    const storage = 'create' in store ? store : registrationOf(store, settings);

    @Module({
      imports: [MillraceModule.forRoot(QUICK, { storage, ...options }), ...imports],
      providers,
    })
    class NodeModule {}
    const log = new LogLines();
    // Without abortOnError a start that fails ends the process.
    return new RunningNode(
      await NestFactory.createApplicationContext(NodeModule, { logger: log, abortOnError: false }),
      log,
    );
  }

  get jobs(): IJobClient {
    return this.app.get(IJobClient);
  }

  get storage(): IJobStorage {
    return this.app.get(IJobStorage);
  }

  get monitoring(): IMonitoringStorage {
    return this.app.get(IMonitoringStorage);
  }

  get<T>(token: Type<T>): T {
    return this.app.get(token, { strict: false });
  }

  /** What the scheduler does once an interval, once. Answers how many jobs became claimable. */
  runSchedulerPass(): Promise<number> {
    return this.get(SchedulerService).runPass();
  }

  /** Every stored job, oldest first. */
  async everyJob(): Promise<JobDetails[]> {
    const found: JobDetails[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<IMonitoringStorage['queryJobs']>> = await this.monitoring.queryJobs({
        cursor,
        limit: 200,
      });
      for (const { id } of page.items) {
        const job = await this.jobs.getJob(id);
        if (job !== null) found.push(job);
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    return found.toReversed();
  }

  async countOf(...states: JobState[]): Promise<number> {
    const { jobsByState } = await this.monitoring.getStatistics();
    return states.reduce((sum, state) => sum + jobsByState[state], 0);
  }

  /** Resolves once a job has come to an end. */
  async ended(id: string, within?: number): Promise<JobDetails> {
    return eventually(async () => {
      const job = await this.jobs.getJob(id);
      if (job === null || !ENDED.includes(job.state)) throw new Error(`Job ${id} is ${job?.state ?? 'unknown'}.`);
      return job;
    }, within);
  }

  /** Resolves once every stored job has come to an end. */
  async allEnded(within?: number): Promise<void> {
    await eventually(async () => {
      const { jobsByState } = await this.monitoring.getStatistics();
      const open = JOB_STATES.filter((state) => !isTerminal(state));
      const left = open.reduce((sum, state) => sum + jobsByState[state], 0);
      if (left > 0) throw new Error(`${left} jobs have not ended: ${JSON.stringify(jobsByState)}.`);
    }, within);
  }

  /** Resolves once no job is claimable or runs: what is left waits for its time. */
  async settled(): Promise<void> {
    await eventually(async () => {
      const open = await this.countOf(JobState.Enqueued, JobState.Processing);
      if (open > 0) throw new Error(`${open} jobs are claimable or run.`);
    });
  }

  /** Begins to close, and resolves once it claims nothing any more and starts nothing that it has claimed. */
  beginClosing(): Promise<void> {
    const lifecycle = this.get(ApplicationLifecycle);
    const stop = lifecycle.stop.bind(lifecycle);
    return new Promise((resolve, reject) => {
      lifecycle.stop = () => {
        const stopped = stop();
        resolve();
        return stopped;
      };
      this.close().catch(reject);
    });
  }

  /** A second call waits for the first. */
  close(): Promise<void> {
    this.closed ??= this.app.close();
    return this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
