import type { JobDetails } from 'nestjs-millrace/storage';
import { groupBy } from './group-by';
import type { CrashRecord } from './records';
import type { Ticket } from './ticket';

export type Fault = 'lost' | 'stranded' | 'doubled';

export interface Finding {
  readonly fault: Fault;
  readonly job: string;
  readonly what: string;
}

/** The store at the end, and what the processes wrote down while they lived. */
export interface Evidence {
  readonly jobs: readonly JobDetails[];
  readonly records: readonly CrashRecord[];
}

interface Execution {
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** Compares what the store says with what was promised and with what was seen. No finding means both promises were kept. */
export function audit({ jobs, records }: Evidence): Finding[] {
  const findings: Finding[] = [];
  const executions = executionsByJob(records, findings);
  const byId = new Map(jobs.map((job) => [job.id, job]));

  for (const record of records) {
    if (record.kind !== 'answered') continue;
    for (const id of record.jobs) {
      if (!byId.has(id))
        findings.push({ fault: 'lost', job: id, what: 'enqueue answered with it, the store lacks it' });
    }
  }
  for (const job of jobs) {
    checkFate(job, byId, findings);
    checkExecutions(job, executions.get(job.id) ?? [], findings);
    checkCounts(job, findings);
    checkOrder(job, byId, executions, findings);
  }
  checkFollowUps(jobs, byId, findings);
  checkBatches(jobs, findings);
  checkKeys(jobs, executions, findings);
  return findings;
}

export function ticketOf(job: JobDetails): Ticket {
  return (JSON.parse(job.args) as [Ticket])[0];
}

function executionsByJob(records: readonly CrashRecord[], findings: Finding[]): Map<string, Execution[]> {
  const ended = new Map<string, number>();
  for (const record of records) if (record.kind === 'ended') ended.set(`${record.job}#${record.attempt}`, record.at);
  const executions = new Map<string, Execution[]>();
  for (const record of records) {
    if (record.kind !== 'started') continue;
    const { job, attempt, at } = record;
    const known = executions.get(job) ?? [];
    if (known.some((other) => other.attempt === attempt)) {
      findings.push({ fault: 'doubled', job, what: `attempt ${attempt} was executed twice` });
    }
    known.push({ attempt, startedAt: at, endedAt: ended.get(`${job}#${attempt}`) ?? null });
    executions.set(job, known);
  }
  return executions;
}

/** The one terminal state that its ticket and its parent leave open to it. */
function expectedState(job: JobDetails, byId: ReadonlyMap<string, JobDetails>): JobDetails['state'] {
  const parent = job.parentId === null ? undefined : byId.get(job.parentId);
  if (parent && parent.state !== 'Succeeded') return 'Cancelled';
  const { fate } = ticketOf(job);
  if (fate === undefined) return 'Succeeded';
  return fate === 'cancelled' ? 'Cancelled' : 'Dead';
}

function checkFate(job: JobDetails, byId: ReadonlyMap<string, JobDetails>, findings: Finding[]): void {
  const expected = expectedState(job, byId);
  if (job.state === expected) return;
  const what = `is ${job.state} and should be ${expected} (${job.lastError?.split('\n')[0] ?? 'no error'})`;
  findings.push({ fault: job.parentId === null ? 'lost' : 'stranded', job: job.id, what });
}

function checkExecutions(job: JobDetails, executions: readonly Execution[], findings: Finding[]): void {
  const last = executions.find((execution) => execution.attempt === job.attempt);
  if (job.state === 'Succeeded' && !last?.endedAt) {
    findings.push({
      fault: 'lost',
      job: job.id,
      what: `succeeded by attempt ${job.attempt}, which never ran to its end`,
    });
  }
  if (job.state === 'Cancelled' && executions.length > 0) {
    findings.push({ fault: 'doubled', job: job.id, what: 'was cancelled before it could run, and ran' });
  }
  for (const { attempt } of executions) {
    if (attempt <= job.attempt) continue;
    findings.push({ fault: 'doubled', job: job.id, what: `attempt ${attempt} ran, its last is ${job.attempt}` });
  }
}

/** Each claim ends in exactly one way, so the counters must add up; and each planned failure is recorded once. */
function checkCounts(job: JobDetails, findings: Finding[]): void {
  const { attempt, failures, interruptions, releases, state } = job;
  const { failures: planned = 0, fate } = ticketOf(job);
  const poisoned = state === 'Dead' && job.lastError?.startsWith('Poisoned');
  const uncounted = state === 'Succeeded' || poisoned ? 1 : 0; // the claim that ended it has a counter of no kind
  if (attempt !== failures + interruptions + releases + uncounted) {
    const what = `${attempt} claims, but ${failures} failures, ${interruptions} interruptions, ${releases} releases`;
    findings.push({ fault: 'doubled', job: job.id, what });
  }
  const expected = state === 'Cancelled' || fate === 'kills' ? 0 : fate === 'dies' ? 1 : planned;
  if (failures !== expected) {
    findings.push({ fault: 'doubled', job: job.id, what: `${failures} failures recorded, ${expected} planned` });
  }
  const rows = job.attempts.filter((row) => row.outcome === 'Failed').length;
  if (attempt <= 10 && rows !== failures) {
    findings.push({ fault: 'doubled', job: job.id, what: `${failures} failures, ${rows} of them in its history` });
  }
}

/** All processes share one machine and so one clock: a continuation begins after the success of its parent. */
function checkOrder(
  job: JobDetails,
  byId: ReadonlyMap<string, JobDetails>,
  executions: ReadonlyMap<string, readonly Execution[]>,
  findings: Finding[],
): void {
  if (job.parentId === null) return;
  const parent = byId.get(job.parentId);
  if (!parent) {
    findings.push({ fault: 'stranded', job: job.id, what: `its parent ${job.parentId} does not exist` });
    return;
  }
  const success = executions.get(parent.id)?.find((execution) => execution.attempt === parent.attempt)?.endedAt;
  for (const { startedAt, attempt } of executions.get(job.id) ?? []) {
    if (success && startedAt >= success) continue;
    findings.push({ fault: 'stranded', job: job.id, what: `attempt ${attempt} ran before its parent had succeeded` });
  }
}

/** What a job enqueues with its success exists once for a success, and never without one. */
function checkFollowUps(jobs: readonly JobDetails[], byId: ReadonlyMap<string, JobDetails>, findings: Finding[]): void {
  const counts = new Map<string, number>();
  for (const job of jobs) {
    const { followUpOf } = ticketOf(job);
    if (!followUpOf) continue;
    const place = `${followUpOf.job}#${followUpOf.index}`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
    if (byId.get(followUpOf.job)?.state !== 'Succeeded') {
      findings.push({ fault: 'doubled', job: job.id, what: `follows ${followUpOf.job}, which has not succeeded` });
    }
  }
  for (const job of jobs) {
    if (job.state !== 'Succeeded') continue;
    for (let index = 0; index < (ticketOf(job).followUps ?? 0); index++) {
      const count = counts.get(`${job.id}#${index}`) ?? 0;
      if (count === 0) findings.push({ fault: 'lost', job: job.id, what: `its follow-up ${index} does not exist` });
      if (count > 1)
        findings.push({ fault: 'doubled', job: job.id, what: `its follow-up ${index} exists ${count} times` });
    }
  }
}

function checkBatches(jobs: readonly JobDetails[], findings: Finding[]): void {
  const members = groupBy(
    jobs.filter((job) => ticketOf(job).batch),
    (job) => ticketOf(job).batch!.call,
  );
  for (const [call, [first, ...others]] of members) {
    const { size } = ticketOf(first!).batch!;
    if (others.length + 1 === size) continue;
    findings.push({ fault: 'lost', job: first!.id, what: `batch ${call} of ${size} has ${others.length + 1} members` });
  }
}

/** A key admits its next job only after the previous one has ended: no execution of the one lies before the end of the other. */
function checkKeys(
  jobs: readonly JobDetails[],
  executions: ReadonlyMap<string, readonly Execution[]>,
  findings: Finding[],
): void {
  const begin = (job: JobDetails) => Math.min(...(executions.get(job.id) ?? []).map(({ startedAt }) => startedAt));
  const holders = groupBy(
    jobs.filter((job) => job.idempotencyKey !== null && executions.has(job.id)),
    (job) => job.idempotencyKey,
  );
  for (const [key, group] of holders) {
    const inOrder = group.toSorted((a, b) => begin(a) - begin(b));
    for (const [at, job] of inOrder.entries()) {
      const previous = inOrder[at - 1];
      if (!previous || begin(job) >= (previous.finishedAt?.getTime() ?? Infinity)) continue;
      findings.push({ fault: 'doubled', job: job.id, what: `ran while ${previous.id} still held the key ${key}` });
    }
  }
}
