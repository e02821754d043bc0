import { type DynamicModule, type LoggerService, type ModuleMetadata, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { IJobClient, type JobDetails, type JobId, MillraceModule, type MillraceOptionsLayer } from '../../../lib';
import { InvocationRunner } from '../../../lib/jobs/invocation-runner';
import { JobExecution } from '../../../lib/jobs/job-execution';
import { JobFactory } from '../../../lib/jobs/job-factory';
import { JobRegistry } from '../../../lib/jobs/job-registry';
import type { ClaimedJob } from '../../../lib/model/job';
import { FakeClock } from '../../../lib/model/time';
import { IJobStorage } from '../../../lib/storage/job-storage';
import { inMemoryStorage } from '../../../lib/storage/in-memory';

const MINUTE = 60_000;

interface Setup extends Pick<ModuleMetadata, 'imports' | 'providers' | 'controllers'> {
  readonly options?: MillraceOptionsLayer;
  /** Where warnings and errors go. */
  readonly lines?: string[];
}

/** A Nest application with Millrace on a fake clock, whose jobs run only when a test runs them. */
export class Application implements AsyncDisposable {
  private constructor(
    readonly module: TestingModule,
    readonly clock: FakeClock,
  ) {}

  static async start({ imports = [], options = {}, lines = [], ...metadata }: Setup = {}): Promise<Application> {
    const clock = new FakeClock();
    const millrace = MillraceModule.forRoot(
      {
        storage: inMemoryStorage({ callerTransactions: 'apply' }),
        workerEnabled: false,
        schedulerEnabled: false,
        clock,
      },
      options,
    );
    const builder = Test.createTestingModule({ imports: [millrace, ...imports], ...metadata });
    const module = await builder.setLogger(noteTo(lines)).compile();
    await module.init();
    return new Application(module, clock);
  }

  get jobs(): IJobClient {
    return this.get(IJobClient);
  }

  get storage(): IJobStorage {
    return this.get(IJobStorage);
  }

  get registry(): JobRegistry {
    return this.get(JobRegistry);
  }

  get<T>(token: Type<T> | (abstract new () => T)): T {
    return this.module.get<T>(token, { strict: false });
  }

  async job(id: JobId): Promise<JobDetails> {
    const job = await this.jobs.getJob(id);
    if (job === null) throw new Error(`There is no job ${id}`);
    return job;
  }

  async claim(...queues: string[]): Promise<ClaimedJob[]> {
    return this.storage.claim({
      workerId: 'worker',
      queues: queues.length === 0 ? ['default'] : queues,
      limit: 100,
      leaseDuration: 5 * MINUTE,
      maxPayload: 2 ** 24,
      expired: false,
      suspects: false,
    });
  }

  execution(job: ClaimedJob): JobExecution {
    return new JobExecution(job, this.get(JobFactory));
  }

  /** Runs a claimed job as a worker does, without its transition. */
  async run(job: ClaimedJob): Promise<JobExecution> {
    const handler = this.registry.get(job.handler);
    if (handler === undefined) throw new Error(`No handler ${job.handler}`);
    const execution = this.execution(job);
    await this.get(InvocationRunner).run(execution, handler);
    return execution;
  }

  /** Claims and runs everything that is claimable on a queue. */
  async runAll(...queues: string[]): Promise<JobExecution[]> {
    const executions: JobExecution[] = [];
    for (const job of await this.claim(...queues)) executions.push(await this.run(job));
    return executions;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.module.close();
  }
}

/** Keeps warnings and errors for the test to look at. */
function noteTo(lines: string[]): LoggerService {
  const note = (message: unknown): void => void lines.push(String(message));
  return { log: () => undefined, debug: () => undefined, warn: note, error: note };
}

export function moduleOf(name: string, metadata: ModuleMetadata): DynamicModule {
  const type = { [name]: class {} }[name] as Type;
  return { module: type, ...metadata };
}
