import type {
  Abstract,
  ClassProvider,
  FactoryProvider,
  InjectionToken,
  ModuleMetadata,
  Type,
  ValueProvider,
} from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { IJobClient } from '../jobs/job-client.interface';
import { MillraceModule } from '../millrace.module';
import { MILLRACE_OPTION_OVERRIDES } from '../millrace.module-definition';
import type { MillraceOptionsLayer } from '../millrace.options';
import type { InstanceId, JobId } from '../model/ids';
import type { JobDetails } from '../model/monitoring';
import { type Duration, FakeClock, later, toMilliseconds } from '../model/time';
import type { InstanceState } from '../model/workflow-instance';
import { SchedulerService } from '../scheduler/scheduler.service';
import { inMemoryStorage } from '../storage/in-memory';
import { IMonitoringStorage } from '../storage/monitoring-storage';
import type { StorageRegistration } from '../storage/storage';
import { IWorkflowStorage } from '../storage/workflow-storage';
import { JobRunner } from '../worker/job-runner';
import { WorkerContext } from '../worker/worker-context';
import type { InstanceDetails } from '../workflows/instance-details';
import { IWorkflowClient } from '../workflows/workflow-client.interface';
import { nextDueMoment } from './due-moments';
import { JobStepper } from './job-stepper';
import { isRegistered } from './registered-module';
import { JobFailedError, TooManyExecutionsError } from './testing.errors';

const MOST_EXECUTIONS = 10_000;

/** What a {@link MillraceTestHost} is made of. Everything is optional. */
export interface TestHostOptions extends Pick<ModuleMetadata, 'imports' | 'providers' | 'controllers'> {
  /** Providers that replace those of the modules under test, in Nest's own notation: `{ provide: Mailer, useValue: mailer }`. */
  readonly overrides?: readonly (ValueProvider | ClassProvider | FactoryProvider)[];
  /** Default: a new store in memory, which applies what it is given a `transaction` for at once and cannot roll it back. */
  readonly storage?: StorageRegistration;
  /** Where the clock stands at first. Default 2026-01-01T00:00:00Z. */
  readonly startingAt?: Date;
  /** Options of Millrace, above those that the modules under test set. */
  readonly options?: Omit<MillraceOptionsLayer, 'storage' | 'clock' | 'workerEnabled' | 'schedulerEnabled'>;
}

export interface RunOptions {
  /** Rethrow the failure of a job that has died. Default true. */
  readonly throwOnFailure?: boolean;
}

/**
 * An application under test, in which time and work move only when they are told to: no workers, no sleeping, no polling.
 *
 * Give it providers with jobs, or a whole application module: one that registers Millrace itself keeps its options, but
 * for store, clock, worker and scheduler, which are the host's.
 *
 * ```ts
 * await using millrace = await MillraceTestHost.create({ providers: [EmailSender] });
 * await millrace.jobs.schedule(EmailSender, (email) => email.sendReminder('o-1'), '7d');
 * await millrace.advanceTime('7d');
 * expect(await millrace.runUntilIdle()).toBe(1);
 * ```
 */
export class MillraceTestHost implements AsyncDisposable {
  /** The client, as the application sees it. */
  readonly jobs: IJobClient;
  /** The workflow client, as the application sees it. */
  readonly workflows: IWorkflowClient;
  private readonly workflowStorage: IWorkflowStorage;
  private readonly scheduler: SchedulerService;
  private readonly stepper: JobStepper;
  private readonly monitoring: IMonitoringStorage;

  private constructor(
    private readonly module: TestingModule,
    /** Moves by itself never. Prefer {@link advanceTime}, which lets things become due. */
    readonly clock: FakeClock,
  ) {
    this.jobs = this.get(IJobClient);
    this.workflows = this.get(IWorkflowClient);
    this.workflowStorage = this.get(IWorkflowStorage);
    this.scheduler = this.get(SchedulerService);
    this.monitoring = this.get(IMonitoringStorage);
    this.stepper = new JobStepper(this.get(WorkerContext), this.get(JobRunner), this.monitoring);
  }

  /** Builds and starts an application of its own: hosts share nothing unless they are given the same store. */
  static async create(options: TestHostOptions = {}): Promise<MillraceTestHost> {
    const { imports = [], providers = [], controllers = [], overrides = [] } = options;
    const clock = new FakeClock(options.startingAt);
    const storage = options.storage ?? inMemoryStorage({ callerTransactions: 'apply', keepFinished: Infinity });
    const millrace = (await isRegistered(MillraceModule, imports)) ? [] : [MillraceModule.forRoot({ storage })];
    const builder = Test.createTestingModule({ imports: [...millrace, ...imports], providers, controllers });
    builder
      .overrideProvider(MILLRACE_OPTION_OVERRIDES)
      .useValue({ ...options.options, storage, clock, workerEnabled: false, schedulerEnabled: false });
    for (const replacement of overrides) override(builder, replacement);
    const module = await builder.compile();
    await module.init();
    return new MillraceTestHost(module, clock);
  }

  /** A provider of any module of the application. */
  get<T>(token: Type<T> | Abstract<T> | string | symbol): T {
    return this.module.get<T>(token, { strict: false });
  }

  /** A job with everything stored of it, its attempts too; null when there is none. */
  getJob(id: JobId): Promise<JobDetails | null> {
    return this.jobs.getJob(id);
  }

  /** Where a workflow instance stands; null when there is none. */
  getInstance(id: InstanceId): Promise<InstanceDetails | null> {
    return this.workflows.getInstance(id);
  }

  /** The state of a workflow instance; null when there is none. */
  async getInstanceState(id: InstanceId): Promise<InstanceState | null> {
    return (await this.getInstance(id))?.state ?? null;
  }

  /** The document of a workflow instance; null when there is none. */
  getData<TData = unknown>(id: InstanceId): Promise<TData | null> {
    return this.workflows.getData<TData>(id);
  }

  /**
   * Moves the clock, makes claimable what has become due, ends waits that have timed out, and fires recurring definitions, each once however many of its
   * occurrences were passed over. Runs nothing.
   */
  async advanceTime(by: Duration): Promise<void> {
    this.clock.advance(toMilliseconds(by, 'advanceTime'));
    await this.scheduler.runPass();
  }

  /**
   * Runs every job that is due by now, one after the other, with all that these enqueue for now: continuations, follow-ups,
   * retries without delay. Takes all queues but paused ones, whatever queues the application claims from.
   *
   * @returns how many executions there were; each retry is one
   * @throws {JobFailedError} a job has died, unless `throwOnFailure` is false; what has not run yet is left for the next call
   * @throws {TooManyExecutionsError} after 10,000 executions
   */
  async runUntilIdle({ throwOnFailure = true }: RunOptions = {}): Promise<number> {
    let executions = 0;
    let idle = false;
    await this.stepper.findQueues();
    while (!idle) {
      idle = (await this.scheduler.runPass()) === 0;
      for (let step = await this.stepper.step(); step !== null; step = await this.stepper.step()) {
        idle = false;
        if (throwOnFailure && step.transition.target === 'Dead') throw await this.failureOf(step.job.id, step.error);
        if (++executions >= MOST_EXECUTIONS) throw new TooManyExecutionsError(executions, step.job.handler);
      }
    }
    return executions;
  }

  /**
   * Moves the clock by steps through every moment at which something becomes due, and runs all that is due at each before
   * it goes on: chains of delays, waits that time out and every occurrence of a recurring definition take their places in order.
   *
   * @returns how many executions there were, those that were due before included
   */
  async advanceAndRun(by: Duration, options: RunOptions = {}): Promise<number> {
    const until = later(this.clock.now(), toMilliseconds(by, 'advanceAndRun'));
    let executions = await this.runUntilIdle(options);
    for (;;) {
      const next = await nextDueMoment(this.monitoring, this.workflowStorage, this.clock.now());
      if (next === null || next > until) break;
      this.clock.set(next);
      executions += await this.runUntilIdle(options);
    }
    this.clock.set(until);
    return executions + (await this.runUntilIdle(options));
  }

  /** Closes the application. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.module.close();
  }

  private async failureOf(id: JobId, cause: unknown): Promise<Error> {
    const job = await this.getJob(id);
    return job === null ? new Error(`Job ${id} has died and is gone.`, { cause }) : new JobFailedError(job, cause);
  }
}

function override(builder: TestingModuleBuilder, replacement: ValueProvider | ClassProvider | FactoryProvider): void {
  const overriding = builder.overrideProvider<InjectionToken>(replacement.provide);
  if ('useFactory' in replacement) {
    overriding.useFactory({ factory: replacement.useFactory, inject: replacement.inject as [] });
  } else if ('useClass' in replacement) {
    overriding.useClass(replacement.useClass);
  } else {
    overriding.useValue(replacement.useValue);
  }
}
