import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fleet } from './fleet';
import { Random } from './random';
import type { JobDetails, WorkflowInstance } from 'nestjs-millrace/storage';
import { type CrashRecord, RecordFile } from './records';
import type { RunSettings } from './run-settings';
import { StoreObserver } from './store';

/** The store at the end of a round, what the processes wrote down while they lived, and how they ended. */
export interface RoundEvidence {
  readonly jobs: readonly JobDetails[];
  readonly instances: readonly WorkflowInstance[];
  readonly records: readonly CrashRecord[];
  readonly kills: number;
  /** Ends that nobody planned. */
  readonly breakdowns: readonly string[];
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

/** Runs a plan under fire until everything has ended, then reads the store and the records. */
export async function playRound(plan: RoundPlan): Promise<RoundEvidence> {
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
  return {
    jobs: await store.everyJob(),
    instances: await store.everyInstance(),
    records: records.read(),
    kills: fleet.kills,
    breakdowns: fleet.breakdowns.map((what) => `${what}, see ${fleet.logFile}`),
  };
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
