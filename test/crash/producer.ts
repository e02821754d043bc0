import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { IJobClient, IWorkflowClient, JobBatch, Retry, type JobId } from 'nestjs-millrace';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { CrashJobs } from './crash-jobs';
import { CrashModule } from './crash.module';
import { crashPlan, poisonPlan, type PlanItem } from './plan';
import { RecordFile } from './records';
import { type RunSettings, settingsOfThisProcess } from './run-settings';
import type { Ticket } from './ticket';
import { journeyPlan } from './workflows/journey-plan';
import { JourneyProducer } from './workflows/journey-producer';

const LANES = 8; // enqueueing calls under way at a time

/** Enqueues the plan. Killed at any point and started again, it takes up every item that it had not written off as done. */
class Producer {
  constructor(
    private readonly jobs: IJobClient,
    private readonly records: RecordFile,
  ) {}

  async produce(plan: readonly PlanItem[], duration: number): Promise<void> {
    const done = new Set(this.records.read().map((record) => (record.kind === 'done' ? record.item : null)));
    const left = [...plan.entries()].filter(([item]) => !done.has(item)).toReversed();
    const rest = (duration * LANES) / plan.length;
    const lane = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const [number, item] = next;
        await this.enqueue(number, item);
        this.records.append({ kind: 'done', item: number });
        await pause(rest);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  private async enqueue(number: number, item: PlanItem): Promise<void> {
    const { kind, tickets, key } = item;
    switch (kind) {
      case 'single':
      case 'keyed':
        this.answered(number, [await this.one(tickets[0]!, key)]);
        return;
      case 'delayed':
        this.answered(number, [await this.jobs.schedule(CrashJobs, (to) => to.run(tickets[0]!), '1s')]);
        return;
      case 'chain':
        await this.chain(number, tickets);
        return;
      case 'cancelled':
        await this.cancelled(number, item);
        return;
      case 'batch':
        this.answered(number, await this.batch(item));
    }
  }

  private one(ticket: Ticket, idempotencyKey?: string): Promise<JobId> {
    const retry = ticket.fate === 'dies' ? { retry: Retry.none } : {};
    return this.jobs.enqueue(CrashJobs, (to) => to.run(ticket), {
      ...retry,
      ...(idempotencyKey && { idempotencyKey }),
    });
  }

  /** One call after the other: the parent may be running, or have ended, when its continuation comes. */
  private async chain(number: number, [first, ...others]: readonly Ticket[]): Promise<void> {
    let parent = await this.one(first!);
    this.answered(number, [parent]);
    for (const ticket of others) parent = await this.continue(number, parent, ticket);
  }

  private async continue(number: number, parent: JobId, ticket: Ticket): Promise<JobId> {
    const retry = ticket.fate === 'dies' ? { retry: Retry.none } : {};
    const id = await this.jobs.continueWith(parent, CrashJobs, (to) => to.run(ticket), retry);
    this.answered(number, [id]);
    return id;
  }

  private async cancelled(number: number, { tickets: [first, ...others], key }: PlanItem): Promise<void> {
    // The key makes it one job, however often this is begun anew: none is left behind to wait for an hour.
    const root = await this.jobs.schedule(CrashJobs, (to) => to.run(first!), '1h', { idempotencyKey: key });
    this.answered(number, [root]);
    let parent = root;
    for (const ticket of others) parent = await this.continue(number, parent, ticket);
    await this.jobs.cancel(root);
  }

  private batch({ tickets, parents }: PlanItem): Promise<JobId[]> {
    const batch = new JobBatch();
    const call = { call: randomUUID(), size: tickets.length };
    for (const [at, planned] of tickets.entries()) {
      const ticket: Ticket = { ...planned, batch: call };
      const retry = ticket.fate === 'dies' ? { retry: Retry.none } : {};
      const parent = parents[at] ?? null;
      if (parent === null) batch.enqueue(CrashJobs, (to) => to.run(ticket), retry);
      else batch.continueWith(parent, CrashJobs, (to) => to.run(ticket), retry);
    }
    return this.jobs.enqueueBatch(batch);
  }

  private answered(item: number, jobs: readonly JobId[]): void {
    this.records.append({ kind: 'answered', item, jobs });
  }
}

async function produce(
  { plan, seed, size, duration }: RunSettings,
  jobs: IJobClient,
  workflows: IWorkflowClient,
  records: RecordFile,
): Promise<void> {
  if (plan === 'workflows') return new JourneyProducer(workflows, records).produce(journeyPlan(seed, size));
  const items = plan === 'crash' ? crashPlan(seed, size) : poisonPlan(seed, size);
  return new Producer(jobs, records).produce(items, duration);
}

async function main(): Promise<void> {
  const settings = settingsOfThisProcess();
  const module = CrashModule.forRun(settings, 'producer');
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
  await produce(settings, app.get(IJobClient), app.get(IWorkflowClient), app.get(RecordFile));
  await app.close();
  process.exit();
}

void main();
