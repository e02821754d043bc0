import { Logger } from '@nestjs/common';
import {
  FakeClock,
  inMemoryStorage,
  type JobRecord,
  newId,
  newJob,
  type RecurringDefinition,
  Retry,
  type Storage,
} from 'nestjs-millrace/storage';
import { type MillraceOptionsLayer, resolveOptions } from '../../../lib/millrace.options';
import { RecurringFirer } from '../../../lib/scheduler/recurring';
import { Pruner } from '../../../lib/scheduler/retention';
import { SchedulerService } from '../../../lib/scheduler/scheduler.service';
import { ApplicationLifecycle } from '../../../lib/worker/application-lifecycle';
import { ProbeLoop } from '../../../lib/worker/probe-loop';
import { PutBacks } from '../../../lib/worker/put-backs';
import { WakeLatch } from '../../../lib/worker/wake-latch';
import { WorkerContext } from '../../../lib/worker/worker-context';

Logger.overrideLogger(false);
const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

/** A store that several schedulers may share, on a clock that stands still. */
export async function aStore(startingAt: string): Promise<{ clock: FakeClock; storage: Storage }> {
  const clock = new FakeClock(new Date(startingAt));
  const storage = inMemoryStorage().create({ clock, logger: silent, lockTimeout: 5000 });
  await storage.open();
  return { clock, storage };
}

/** A scheduler of a node of its own; nothing in it runs by itself. */
export function aScheduler(
  { clock, storage }: { clock: FakeClock; storage: Storage },
  options: MillraceOptionsLayer = {},
) {
  const resolved = resolveOptions({ storage: inMemoryStorage(), clock, ...options });
  const context = new WorkerContext(storage.jobs, resolved, storage.notifier);
  const pruner = new Pruner(context);
  const work = new WakeLatch();
  const scheduler = new SchedulerService(
    context,
    storage.workflows,
    new RecurringFirer(context),
    pruner,
    new ProbeLoop(context),
    new PutBacks(context),
    work,
    new ApplicationLifecycle(),
  );
  return { scheduler, pruner, work, context };
}

export function aDefinition(fields: Partial<RecurringDefinition> & { nextFireTime: Date }): RecurringDefinition {
  const createdAt = new Date('2026-01-01T00:00:00.000Z');
  return {
    id: 'nightly-report',
    cron: '0 3 * * *',
    queue: 'default',
    priority: 0,
    handler: 'Reports.generate',
    args: '[]',
    argTypes: null,
    retry: Retry.none,
    timeout: null,
    misfire: 'fireOnce',
    tenantId: null,
    lastFireTime: null,
    parkedReason: null,
    createdAt,
    updatedAt: createdAt,
    ...fields,
  };
}

export function aJob(clock: FakeClock, fields: Partial<JobRecord> = {}): JobRecord {
  const createdAt = clock.now();
  return newJob({
    id: newId(createdAt),
    queue: 'default',
    handler: 'Mailer.send',
    args: '[]',
    retry: Retry.none,
    createdAt,
    ...fields,
  });
}

/** All jobs that the definitions of a store have fired, in the order of their occurrences. */
export async function occurrences(storage: Storage): Promise<JobRecord[]> {
  const { items } = await storage.monitoring.queryJobs({ limit: 200 });
  const jobs = await Promise.all(items.map(({ id }) => storage.jobs.getJob(id)));
  return jobs
    .filter((job) => job !== null)
    .toSorted((a, b) => (a.occurrenceAt?.getTime() ?? 0) - (b.occurrenceAt?.getTime() ?? 0));
}
