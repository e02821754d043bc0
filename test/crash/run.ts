import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DataSource } from 'typeorm';
import { EmbeddedPostgres } from '../support/embedded-postgres';
import type { Fault } from './audit';
import { playRound, type RoundPlan, type RoundResult } from './round';
import type { StoreAddress } from './store';

/**
 * `npm run test:crash -- [--short] [--seed N] [--store postgres|sqlite] [--keep]`
 *
 * Workers are killed at random while they work off thousands of jobs, then one job kills them. Both promises are then
 * checked against what the processes wrote down for themselves. Exit code 1, and the folder is kept, if one was broken.
 */
const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    seed: { type: 'string' },
    store: { type: 'string' },
  },
});

const WORKERS = { postgres: 3, sqlite: 2 };
const SIZE = options.short
  ? { jobs: 300, duration: 8_000, kills: 8, good: 100, goodFor: 4_000, interruptionLimit: 3 }
  : { jobs: 2_000, duration: 60_000, kills: 60, good: 500, goodFor: 20_000, interruptionLimit: 10 };

async function main(): Promise<void> {
  const seed = Number(options.seed ?? Date.now() % 1_000_000);
  console.log(`seed ${seed} (repeat with --seed ${seed})`);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  const stores = (['postgres', 'sqlite'] as const).filter((name) => (options.store ?? name) === name);
  const outcomes = await Promise.all(stores.map((store) => playStore(store, seed, join(folder, store))));
  const broken = outcomes.some((results) => results.some(({ findings }) => findings.length > 0));
  if (broken || options.keep) console.log(`Everything the processes wrote is in ${folder}`);
  else rmSync(folder, { recursive: true });
  for (const [at, store] of stores.entries()) console.log(summary(store, outcomes[at]!));
  process.exitCode = broken ? 1 : 0;
}

async function playStore(name: 'postgres' | 'sqlite', seed: number, folder: string): Promise<RoundResult[]> {
  const server = name === 'postgres' ? await startPostgres() : null;
  try {
    return await playBoth(name, seed, folder, server?.url);
  } finally {
    await server?.stop();
  }
}

async function playBoth(
  name: 'postgres' | 'sqlite',
  seed: number,
  folder: string,
  url: string | undefined,
): Promise<RoundResult[]> {
  const at = (round: string): StoreAddress =>
    url === undefined
      ? { kind: 'sqlite', database: join(folder, round, 'jobs.db') }
      : { kind: 'postgres', url, schema: schemaOf(round) };
  const common = { seed, workers: WORKERS[name] };
  const crash: RoundPlan = {
    ...common,
    plan: 'crash',
    store: at('crash'),
    folder: join(folder, 'crash'),
    jobs: SIZE.jobs,
    duration: SIZE.duration,
    kills: SIZE.kills,
    interruptionLimit: 10,
  };
  const poison: RoundPlan = {
    ...common,
    plan: 'poison',
    store: at('poison'),
    folder: join(folder, 'poison'),
    jobs: SIZE.good,
    duration: SIZE.goodFor,
    kills: 0,
    interruptionLimit: SIZE.interruptionLimit,
  };
  return [await play(name, crash), await play(name, poison)];
}

async function play(name: string, plan: RoundPlan): Promise<RoundResult> {
  const begun = Date.now();
  const result = await playRound(plan);
  const seconds = ((Date.now() - begun) / 1000).toFixed(0);
  const { jobs, kills, findings, interruptions } = result;
  if (plan.plan === 'crash')
    console.log(`${name}: ${jobs} jobs ended, ${kills} processes killed on the way, ${seconds} s`);
  else {
    console.log(
      `${name}: a job that ends its process among ${jobs - 1}: it is given up after ${interruptions} interruptions and ` +
        `${kills} processes, ${seconds} s`,
    );
  }
  for (const { fault, job, what } of findings.slice(0, 20)) console.log(`  ${fault}: job ${job} ${what}`);
  if (findings.length > 20) console.log(`  and ${findings.length - 20} more`);
  return result;
}

function summary(name: string, results: readonly RoundResult[]): string {
  const sum = (of: (result: RoundResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const faults = (fault: Fault) => sum(({ findings }) => findings.filter((finding) => finding.fault === fault).length);
  const [jobs, kills] = [sum((result) => result.jobs), sum((result) => result.kills)];
  return `${name}: ${jobs} jobs, ${kills} kills, ${faults('lost')} lost, ${faults('stranded')} stranded, ${faults('doubled')} doubled`;
}

/** The server that MILLRACE_TEST_POSTGRES names, or one of our own for this run. */
async function startPostgres(): Promise<{ readonly url: string; stop(): void | Promise<void> }> {
  const given = process.env['MILLRACE_TEST_POSTGRES'];
  if (given) return { url: given, stop: () => dropSchemas(given) };
  const server = new EmbeddedPostgres();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      server.stop();
      process.exit(1);
    });
  }
  return { url: await server.start(), stop: () => server.stop() };
}

const schemaOf = (round: string) => `crash_${process.pid}_${round}`;

/** A server of somebody else's is left as it was found. */
async function dropSchemas(url: string): Promise<void> {
  const postgres = await new DataSource({ type: 'postgres', url }).initialize();
  for (const round of ['crash', 'poison']) await postgres.query(`drop schema if exists ${schemaOf(round)} cascade`);
  await postgres.destroy();
}

void main();
