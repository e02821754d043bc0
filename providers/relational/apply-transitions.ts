import { JobState, type JobTransition, type TransitionResult } from '../../lib/storage';
import { FENCED, HELD, isPlainSuccess, succeed } from './apply';
import type { Database } from './database';
import type { Dialect } from './dialect';
import { flush } from './flush';

/**
 * Sends transitions to the database in as few commits as they allow, see IJobStorage.apply.
 *
 * Plain successes are one statement. Those that insert a job with a key or a parent go alone, since they may wait for
 * somebody. The rest shares a transaction; one whose data the database refuses is found by halving.
 */
export async function applyTransitions(
  database: Database,
  dialect: Dialect,
  transitions: readonly JobTransition[],
  now: Date,
): Promise<TransitionResult[]> {
  const results = new Map<JobTransition, TransitionResult>();
  let open = transitions;
  while (open.length > 0) {
    const first = firstOfEachJob(open);
    await applyRound(database, dialect, first, now, results);
    // The first transition of a job that is not fenced is the one that counts.
    const settled = new Set(first.filter((transition) => !isFenced(results.get(transition))).map(({ id }) => id));
    open = open.filter((transition) => !results.has(transition) && !settled.has(transition.id));
  }
  return transitions.map((transition) => results.get(transition) ?? FENCED);
}

function isFenced(result: TransitionResult | undefined): boolean {
  return result?.outcome === 'fenced';
}

/** Applies transitions of different jobs. */
async function applyRound(
  database: Database,
  dialect: Dialect,
  transitions: readonly JobTransition[],
  now: Date,
  results: Map<JobTransition, TransitionResult>,
): Promise<void> {
  const plain = transitions.filter(isPlainSuccess);
  const full = transitions.filter((transition) => !isPlainSuccess(transition));

  for (const [workerId, group] of byWorker(plain)) {
    const answers = await database.transaction(() => succeed(group, workerId, now.getTime()), {
      ifUnknown: 'retry',
      single: true,
    });
    group.forEach((transition, index) => {
      const answer = answers[index];
      if (answer) results.set(transition, answer);
      else full.push(transition);
    });
  }

  const shared = full.filter((transition) => !mayWait(transition));
  await flushShared(database, dialect, shared, now, results);
  for (const transition of full) {
    if (mayWait(transition)) await flushShared(database, dialect, [transition], now, results);
  }
}

async function flushShared(
  database: Database,
  dialect: Dialect,
  transitions: readonly JobTransition[],
  now: Date,
  results: Map<JobTransition, TransitionResult>,
): Promise<void> {
  if (transitions.length === 0) return;
  try {
    const answers = await database.transaction(() => flush(dialect, transitions, now), { ifUnknown: 'retry' });
    transitions.forEach((transition, index) => results.set(transition, answers[index] ?? FENCED));
  } catch (error) {
    const kind = dialect.classify(error);
    if (kind === 'connection') throw error;
    const [only] = transitions;
    if (transitions.length === 1 && only) {
      results.set(only, isOccupied(kind, error) ? HELD : { outcome: 'rejected', error });
      return;
    }
    const middle = transitions.length >> 1;
    await flushShared(database, dialect, transitions.slice(0, middle), now, results);
    await flushShared(database, dialect, transitions.slice(middle), now, results);
  }
}

/** Somebody is in the way, and the transition itself may be sound. */
function isOccupied(kind: ReturnType<Dialect['classify']>, error: unknown): boolean {
  return kind === 'locked' || kind === 'retry' || (error as { code?: unknown }).code === 'MILLRACE_LOCK_TIMEOUT';
}

function firstOfEachJob(transitions: readonly JobTransition[]): JobTransition[] {
  const seen = new Set<string>();
  return transitions.filter(({ id }) => !seen.has(id) && seen.add(id));
}

function byWorker(transitions: readonly JobTransition[]): Map<string, JobTransition[]> {
  const groups = new Map<string, JobTransition[]>();
  for (const transition of transitions) {
    const group = groups.get(transition.workerId);
    if (group) group.push(transition);
    else groups.set(transition.workerId, [transition]);
  }
  return groups;
}

function mayWait({ enqueue }: JobTransition): boolean {
  return enqueue.some((job) => job.idempotencyKey !== null || job.state === JobState.Awaiting);
}
