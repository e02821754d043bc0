import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DataSource } from 'typeorm';
import { EmbeddedPostgres } from '../support/embedded-postgres';
import { audit, type Fault, type Finding, ticketOf } from './audit';
import { playRound, type RoundPlan } from './round';
import { auditJourneys, type JourneyFinding } from './workflows/journey-audit';

/**
 * `npm run test:crash -- [--short] [--seed N] [--store postgres|sqlite] [--keep]`
 *
 * Workers are killed at random while they work off thousands of jobs, then one job kills them, then they are killed while
 * hundreds of workflow instances are under way. What was promised is then checked against what the processes wrote down
 * for themselves. Exit code 1, and the folder is kept, if a promise was broken.
 */
const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    seed: { type: 'string' },
    store: { type: 'string' },
  },
});

type StoreName = 'postgres' | 'sqlite';

interface JobsResult {
  readonly jobs: number;
  readonly kills: number;
  readonly findings: readonly Finding[];
}

interface WorkflowsResult {
  readonly instances: number;
  readonly kills: number;
  readonly findings: readonly JourneyFinding[];
}

interface StoreResult {
  readonly jobs: readonly JobsResult[];
  readonly workflows: WorkflowsResult;
}

const WORKERS = { postgres: 3, sqlite: 2 };
const SIZE = options.short
  ? { jobs: 300, duration: 8_000, kills: 8, good: 100, goodFor: 4_000, interruptionLimit: 3, instances: 60 }
  : { jobs: 2_000, duration: 60_000, kills: 60, good: 500, goodFor: 20_000, interruptionLimit: 10, instances: 500 };
const MOST_SHOWN = 20;

async function main(): Promise<void> {
  const seed = Number(options.seed ?? Date.now() % 1_000_000);
  console.log(`seed ${seed} (repeat with --seed ${seed})`);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  const stores = (['postgres', 'sqlite'] as const).filter((name) => (options.store ?? name) === name);
  const results = await Promise.all(stores.map((store) => playStore(store, seed, join(folder, store))));
  const broken = results.some(({ jobs, workflows }) =>
    [...jobs, workflows].some(({ findings }) => findings.length > 0),
  );
  if (broken || options.keep) console.log(`Everything the processes wrote is in ${folder}`);
  else rmSync(folder, { recursive: true });
  for (const [at, store] of stores.entries()) console.log(jobsSummary(store, results[at]!.jobs));
  for (const [at, store] of stores.entries()) console.log(workflowsSummary(store, results[at]!.workflows));
  process.exitCode = broken ? 1 : 0;
}

async function playStore(name: StoreName, seed: number, folder: string): Promise<StoreResult> {
  const server = name === 'postgres' ? await startPostgres() : null;
  try {
    return await playAll(name, seed, folder, server?.url);
  } finally {
    await server?.stop();
  }
}

async function playAll(name: StoreName, seed: number, folder: string, url: string | undefined): Promise<StoreResult> {
  const round = (plan: RoundPlan['plan'], more: Pick<RoundPlan, 'size' | 'duration' | 'kills'>): RoundPlan => ({
    plan,
    seed,
    workers: WORKERS[name],
    folder: join(folder, plan),
    store:
      url === undefined
        ? { kind: 'sqlite', database: join(folder, plan, 'jobs.db') }
        : { kind: 'postgres', url, schema: schemaOf(plan) },
    interruptionLimit: plan === 'poison' ? SIZE.interruptionLimit : 10,
    ...more,
  });
  const { jobs, duration, kills, good, goodFor, instances } = SIZE;
  const crash = await playCrash(name, round('crash', { size: jobs, duration, kills }));
  const poison = await playPoison(name, round('poison', { size: good, duration: goodFor, kills: 0 }));
  const workflows = await playWorkflows(name, round('workflows', { size: instances, duration: 0, kills }));
  return { jobs: [crash, poison], workflows };
}

async function playCrash(name: StoreName, plan: RoundPlan): Promise<JobsResult> {
  const { evidence, seconds } = await played(plan);
  const { jobs, kills } = evidence;
  console.log(`${name}: ${jobs.length} jobs ended, ${kills} processes killed on the way, ${seconds} s`);
  return { jobs: jobs.length, kills, findings: shown(jobFindings(evidence)) };
}

async function playPoison(name: StoreName, plan: RoundPlan): Promise<JobsResult> {
  const { evidence, seconds } = await played(plan);
  const { jobs, kills } = evidence;
  const killer = jobs.find((job) => ticketOf(job).fate === 'kills');
  console.log(
    `${name}: a job that ends its process among ${jobs.length - 1}: it is given up after ${killer?.interruptions} ` +
      `interruptions and ${kills} processes, ${seconds} s`,
  );
  return { jobs: jobs.length, kills, findings: shown(jobFindings(evidence)) };
}

async function playWorkflows(name: StoreName, plan: RoundPlan): Promise<WorkflowsResult> {
  const { evidence, seconds } = await played(plan);
  const { instances, kills, breakdowns } = evidence;
  console.log(`${name}: ${instances.length} instances ended, ${kills} processes killed on the way, ${seconds} s`);
  const findings = auditJourneys(evidence);
  if (instances.length < plan.size) {
    findings.push({ instance: '-', what: `only ${instances.length} of ${plan.size} were started` });
  }
  for (const what of breakdowns) findings.push({ instance: '-', what });
  for (const { instance, what } of findings.slice(0, MOST_SHOWN)) console.log(`  instance ${instance} ${what}`);
  return { instances: instances.length, kills, findings };
}

async function played(plan: RoundPlan) {
  const begun = Date.now();
  const evidence = await playRound(plan);
  return { evidence, seconds: ((Date.now() - begun) / 1000).toFixed(0) };
}

function jobFindings(evidence: Awaited<ReturnType<typeof playRound>>): Finding[] {
  const breakdowns = evidence.breakdowns.map((what): Finding => ({ fault: 'lost', job: '-', what }));
  return [...audit(evidence), ...breakdowns];
}

function shown(findings: readonly Finding[]): readonly Finding[] {
  for (const { fault, job, what } of findings.slice(0, MOST_SHOWN)) console.log(`  ${fault}: job ${job} ${what}`);
  if (findings.length > MOST_SHOWN) console.log(`  and ${findings.length - MOST_SHOWN} more`);
  return findings;
}

function jobsSummary(name: string, results: readonly JobsResult[]): string {
  const sum = (of: (result: JobsResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const faults = (fault: Fault) => sum(({ findings }) => findings.filter((finding) => finding.fault === fault).length);
  const [jobs, kills] = [sum((result) => result.jobs), sum((result) => result.kills)];
  return `${name}: ${jobs} jobs, ${kills} kills, ${faults('lost')} lost, ${faults('stranded')} stranded, ${faults('doubled')} doubled`;
}

function workflowsSummary(name: string, { instances, kills, findings }: WorkflowsResult): string {
  const wrong = new Set(findings.map(({ instance }) => instance)).size;
  return `${name}: ${instances} instances, ${kills} kills, ${wrong} wrong`;
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

const schemaOf = (plan: string) => `crash_${process.pid}_${plan}`;

/** A server of somebody else's is left as it was found. */
async function dropSchemas(url: string): Promise<void> {
  const postgres = await new DataSource({ type: 'postgres', url }).initialize();
  for (const plan of ['crash', 'poison', 'workflows']) {
    await postgres.query(`drop schema if exists ${schemaOf(plan)} cascade`);
  }
  await postgres.destroy();
}

void main();
