import type { INestApplicationContext } from '@nestjs/common';
import { type EnqueueOptions, IJobClient } from 'nestjs-millrace';
import { type FakeClock, IMonitoringStorage, type JobDetails } from 'nestjs-millrace/storage';
import { SchedulerService } from '../../../lib/scheduler/scheduler.service';
import { ProgramJobs } from './program-jobs';

/** What a test can ask a child process to do. Arguments and results travel by structured clone. */
export class ProgramCommands {
  constructor(
    private readonly app: INestApplicationContext,
    private readonly clock: FakeClock | null,
  ) {}

  note(label: string, options?: EnqueueOptions): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.note(label), options);
  }

  wait(label: string, milliseconds: number, options?: EnqueueOptions): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.wait(label, milliseconds), options);
  }

  spin(label: string, file: string): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.spin(label, file));
  }

  stray(label: string): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.stray(label));
  }

  fail(label: string): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.fail(label));
  }

  follow(label: string): Promise<string> {
    return this.jobs.enqueue(ProgramJobs, (jobs) => jobs.follow(label));
  }

  continueWith(parent: string, label: string): Promise<string> {
    return this.jobs.continueWith(parent, ProgramJobs, (jobs) => jobs.note(label));
  }

  /** At once, not one after another. */
  notes(labels: string[], options?: EnqueueOptions): Promise<string[]> {
    return Promise.all(labels.map((label) => this.note(label, options)));
  }

  schedule(label: string, when: string | Date): Promise<string> {
    return this.jobs.schedule(ProgramJobs, (jobs) => jobs.note(label), when);
  }

  upsertRecurring(id: string, cron: string): Promise<void> {
    return this.jobs.upsertRecurring(id, cron, ProgramJobs, (jobs) => jobs.note(id));
  }

  pauseQueue(queue: string): Promise<void> {
    return this.jobs.pauseQueue(queue);
  }

  resumeQueue(queue: string): Promise<void> {
    return this.jobs.resumeQueue(queue);
  }

  removeRecurring(id: string): Promise<void> {
    return this.jobs.removeRecurring(id);
  }

  getJob(id: string): Promise<JobDetails | null> {
    return this.jobs.getJob(id);
  }

  /** Sets the clock that stands still. */
  async setClock(instant: string): Promise<void> {
    this.clock!.set(new Date(instant));
  }

  /** What the scheduler does once an interval, once. */
  pass(): Promise<number> {
    return this.app.get(SchedulerService, { strict: false }).runPass();
  }

  /** Lets the clock run from one instant to another, and answers what has fired meanwhile, as `id instant`. */
  async letTimePass(from: string, to: string, step: number): Promise<string[]> {
    for (let now = Date.parse(from); now <= Date.parse(to); now += step) {
      this.clock!.set(new Date(now));
      await this.pass();
    }
    const fired: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<IMonitoringStorage['queryJobs']>> = await this.monitoring.queryJobs({
        cursor,
        limit: 200,
      });
      for (const { id } of page.items) {
        const job = (await this.getJob(id))!;
        fired.push(`${job.recurringId} ${job.occurrenceAt?.toISOString()}`);
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    return fired.toSorted();
  }

  /** How this process shows an instant to its users, and how far its zone is from UTC. */
  async zone(instant: string): Promise<{ local: string; offset: number }> {
    const date = new Date(instant);
    return { local: String(date), offset: date.getTimezoneOffset() };
  }

  private get monitoring(): IMonitoringStorage {
    return this.app.get(IMonitoringStorage, { strict: false });
  }

  private get jobs(): IJobClient {
    return this.app.get(IJobClient, { strict: false });
  }
}
