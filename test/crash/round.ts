import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { audit, ticketOf, type Finding } from './audit';
import { Fleet } from './fleet';
import { Random } from './random';
import { RecordFile } from './records';
import type { RunSettings } from './run-settings';
import { StoreObserver } from './store';

export interface RoundResult {
  readonly jobs: number;
  readonly kills: number;
  readonly findings: readonly Finding[];
  /** Of the job that ends its process; null in a round without one. */
  readonly interruptions: number | null;
}

export interface RoundPlan extends Omit<RunSettings, 'records'> {
  readonly folder: string;
  readonly workers: number;
  /** Processes to kill, at most; 0 where a job sees to it itself. */
  readonly kills: number;
}

/** Between two kills, from and to, in milliseconds. */
const KILL_EVERY = [400, 1_600] as const;
/** Without any change for so long, what is left is lost. */
const STANDSTILL = 60_000;

/** Runs a plan under fire until every job has ended, then reads the store and the records and compares. */
export async function playRound(plan: RoundPlan): Promise<RoundResult> {
  mkdirSync(plan.folder, { recursive: true });
  const records = new RecordFile(join(plan.folder, 'records.jsonl'));
  const fleet = new Fleet({ ...plan, records: records.path }, join(plan.folder, 'processes.log'));
  fleet.start(plan.workers);
  try {
    await runUntilEnded(plan, fleet, records.path);
  } finally {
    await fleet.dismiss();
  }

  await using store = await StoreObserver.open(plan.store);
  const jobs = await store.everyJob();
  const findings = [...audit({ jobs, records: records.read() })];
  for (const what of fleet.breakdowns)
    findings.push({ fault: 'lost', job: '-', what: `${what}, see ${fleet.logFile}` });
  const killer = jobs.find((job) => ticketOf(job).fate === 'kills');
  return { jobs: jobs.length, kills: fleet.kills, findings, interruptions: killer?.interruptions ?? null };
}

async function runUntilEnded({ seed, store: address, kills }: RoundPlan, fleet: Fleet, records: string): Promise<void> {
  const random = new Random(seed);
  await using store = await StoreObserver.open(address);
  let seen = '';
  let changedAt = Date.now();
  let nextKill = Date.now() + random.between(...KILL_EVERY);
  while (Date.now() < changedAt + STANDSTILL) {
    const unfinished = await store.unfinished();
    if (!fleet.producing && unfinished === 0) return;
    const now = `${unfinished} unfinished, ${existsSync(records) ? statSync(records).size : 0} bytes of records`;
    if (now !== seen) changedAt = Date.now();
    seen = now;
    await pause(50);
    if (fleet.kills >= kills || Date.now() < nextKill) continue;
    fleet.killOne(random);
    nextKill = Date.now() + random.between(...KILL_EVERY);
  }
}
