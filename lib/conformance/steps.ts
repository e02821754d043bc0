import assert from 'node:assert/strict';
import type { Bookmark } from '../model/bookmark';
import type { JobRecord } from '../model/job';
import type { JobState } from '../model/job-state';
import type { JobTransition, TransitionResult } from '../model/job-transition';
import type { JobDetails } from '../model/monitoring';
import type { RecurringDefinition } from '../model/recurring-definition';
import { MINUTE } from '../model/time';
import type { WorkflowInstance } from '../model/workflow-instance';
import type { ClaimRequest, IJobStorage } from '../storage/job-storage';
import { aJob, type Claimed, claimBy, failed, released, someJobs } from './builders';
import { assertEqual } from './expectations';
import { anInstance, aStep } from './workflow-builders';
import type { World } from './world';

/** Claims, and remembers for whom. */
export async function take(jobs: IJobStorage, request: ClaimRequest): Promise<Claimed[]> {
  const taken = await jobs.claim(request);
  return taken.map((job) => ({ ...job, workerId: request.workerId }));
}

/** Claims, and expects exactly one job. */
export async function takeOne(jobs: IJobStorage, request: ClaimRequest): Promise<Claimed> {
  const [job, ...others] = await take(jobs, request);
  assert.ok(job, `${request.workerId} claimed nothing`);
  assert.equal(others.length, 0, `${request.workerId} claimed ${others.length + 1} jobs instead of one`);
  return job;
}

/** Stores one job and claims it. The queue must be empty but for it. */
export async function claimed(world: World, fields: Partial<JobRecord> = {}, workerId = 'w1'): Promise<Claimed> {
  const job = aJob(world.clock, fields);
  await world.jobs.enqueue([job]);
  return takeOne(world.jobs, claimBy(workerId, { queues: [job.queue] }));
}

type Tuple<T, N extends number, Rest extends T[] = []> = Rest['length'] extends N ? Rest : Tuple<T, N, [...Rest, T]>;

/** Stores and claims so many jobs. The queue must be empty but for them. */
export async function claimedJobs<N extends number>(world: World, count: N): Promise<Tuple<Claimed, N>> {
  await world.jobs.enqueue(someJobs(count, world.clock));
  const claims = await take(world.jobs, claimBy('w1', { limit: count }));
  assert.equal(claims.length, count);
  return claims as Tuple<Claimed, N>;
}

/** Stores one job that has failed once, and waits for `dueAt`. */
export async function backingOff(world: World, dueAt: Date, fields: Partial<JobRecord> = {}): Promise<Claimed> {
  const job = await claimed(world, fields);
  await applied(world.jobs, failed(job, dueAt));
  return job;
}

/** An Enqueued job with two interruptions. */
export async function aSuspect(world: World, fields: Partial<JobRecord> = {}): Promise<JobRecord> {
  const { jobs, clock } = world;
  const job = aJob(clock, { queue: 'default', ...fields });
  const queues = [job.queue];
  await jobs.enqueue([job]);
  await take(jobs, claimBy('crashed-1', { leaseDuration: MINUTE, queues }));
  clock.advance(MINUTE);
  await take(jobs, claimBy('crashed-2', { leaseDuration: MINUTE, queues }));
  clock.advance(MINUTE);
  await applied(jobs, released(await takeOne(jobs, claimBy('w1', { queues }))));
  return storedJob(world, job.id);
}

/** Applies transitions that nothing contends with, and expects each to apply. */
export async function applied(jobs: IJobStorage, ...transitions: readonly JobTransition[]): Promise<void> {
  const results = await jobs.apply(transitions);
  assertEqual(
    results,
    transitions.map(() => ({ outcome: 'applied' })),
  );
}

/** Stores a job, ends it now, and answers its id. */
export async function ended(
  world: World,
  end: (job: Claimed) => JobTransition,
  fields: Partial<JobRecord> = {},
): Promise<string> {
  const job = await claimed(world, fields);
  await applied(world.jobs, end(job));
  return job.id;
}

export async function applyOne(jobs: IJobStorage, transition: JobTransition): Promise<TransitionResult> {
  const [result, ...others] = await jobs.apply([transition]);
  assert.ok(result, 'apply answered nothing for its one transition');
  assert.equal(others.length, 0);
  return result;
}

const RESENDS = 2000;

/** Applies as a worker does: a transition that was held is sent again until it has an answer. */
export async function settle(jobs: IJobStorage, transition: JobTransition): Promise<TransitionResult> {
  for (let sent = 0; sent < RESENDS; sent++) {
    const result = await applyOne(jobs, transition);
    if (result.outcome !== 'held') return result;
    await pause(2);
  }
  throw new assert.AssertionError({ message: `job ${transition.id} was held ${RESENDS} times` });
}

/** Gives others, other processes included, a chance to get on. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

export function inParallel<T>(count: number, action: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => action(index)));
}

export async function inRounds(count: number, action: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < count; round++) await action(round);
}

/** Calls until nothing is left, and answers everything that came. */
export async function drain<T>(next: () => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let page = await next(); page.length > 0; page = await next()) all.push(...page);
  return all;
}

/** Stores an instance with jobs and waits. */
export async function started(
  { workflows, clock }: World,
  fields: Partial<WorkflowInstance> = {},
  make: (instance: WorkflowInstance) => { jobs?: readonly JobRecord[]; bookmarks?: readonly Bookmark[] } = () => ({}),
): Promise<WorkflowInstance> {
  const instance = anInstance(clock, fields);
  const { jobs = [], bookmarks = [] } = make(instance);
  assert.equal(await workflows.createInstance({ instance, jobs, bookmarks }), instance.id);
  return instance;
}

/** An instance with so many steps, all of them claimed by w1. */
export async function runningSteps(
  world: World,
  count: number,
  fields: Partial<JobRecord> = {},
): Promise<{ instance: WorkflowInstance; steps: Claimed[] }> {
  const { jobs, clock } = world;
  const instance = await started(world, {}, (made) => ({
    jobs: Array.from({ length: count }, () => aStep(clock, made, fields)),
  }));
  const steps = await take(jobs, claimBy('w1', { limit: count }));
  assert.equal(steps.length, count);
  return { instance, steps };
}

export async function runningStep(
  world: World,
  fields: Partial<JobRecord> = {},
): Promise<{ instance: WorkflowInstance; step: Claimed }> {
  const { instance, steps } = await runningSteps(world, 1, fields);
  const [step] = steps;
  assert.ok(step);
  return { instance, step };
}

export async function storedJob({ jobs }: Pick<World, 'jobs'>, id: string): Promise<JobRecord> {
  const job = await jobs.getJob(id);
  assert.ok(job, `job ${id} is not stored`);
  return job;
}

/** States by position, null where there is no such job. */
export function statesOf({ jobs }: Pick<World, 'jobs'>, ids: readonly string[]): Promise<(JobState | null)[]> {
  return Promise.all(ids.map(async (id) => (await jobs.getJob(id))?.state ?? null));
}

export async function stateOf(world: Pick<World, 'jobs'>, { id }: { id: string }): Promise<JobState | null> {
  return (await world.jobs.getJob(id))?.state ?? null;
}

export async function detailsOf({ monitoring }: World, id: string): Promise<JobDetails> {
  const details = await monitoring.getJobDetails(id);
  assert.ok(details, `job ${id} has no details`);
  return details;
}

export async function storedInstance({ workflows }: World, id: string): Promise<WorkflowInstance> {
  const instance = await workflows.getInstance(id);
  assert.ok(instance, `instance ${id} is not stored`);
  return instance;
}

export async function storedDefinition({ jobs }: Pick<World, 'jobs'>, id: string): Promise<RecurringDefinition> {
  const definition = await jobs.getRecurring(id);
  assert.ok(definition, `recurring definition ${id} is not stored`);
  return definition;
}
