import {
  JOB_STATE_CODES,
  type JobId,
  type JobRecord,
  type JobTransition,
  type TransitionResult,
  type TransitionTarget,
} from '../../lib/storage';
import { type FlushedJob, InstanceDraft } from './advance';
import { APPLIED, applyStatements, byId, FENCED, HELD, idsOf, standingOf } from './apply';
import { type AttemptRow, recordAttempts } from './attempts';
import {
  activateContinuations,
  cancelJobs,
  type LockedContinuations,
  lockClosure,
  lockDirectChildren,
} from './continuations';
import type { Dialect } from './dialect';
import { enqueue } from './enqueue';
import { lockInstances, writeDrafts } from './instances';
import { checkNewJobs } from './new-jobs';
import { type Operation, query, type Row, signalReady } from './operation';
import { optionalEpoch } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

const WRITTEN = ['id', 'state', 'failures', 'due_at', 'finished_at', 'last_error'] as const;

export const flushStatements = {
  move: {
    name: 'flush_move',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set:
          'state = r.state, failures = r.failures, due_at = r.due_at, finished_at = r.finished_at, ' +
          'worker_id = null, lease_until = null, releases = j.releases + r.released, ' +
          'last_error = case when r.keeps_error = 1 then j.last_error else r.last_error end, ' +
          'active_key = case when r.state in (3, 5, 6) then null else j.active_key end',
        from: d.rowset(':moves', { ...typesOf('jobs', WRITTEN), released: 'int', keeps_error: 'int' }, 'r'),
        where: 'j.id = r.id',
        returning: ['id'],
      }),
  },
} satisfies Record<string, Statement>;

/** A transition under way: what is known and decided of it. */
interface Decision {
  readonly transition: JobTransition;
  readonly row: Row;
  readonly target: TransitionTarget;
}

/**
 * Applies any transitions in one transaction: locks, decides, then writes. Waits for nobody but for jobs of an instance
 * whose lock it holds.
 *
 * Locks are taken in one order: instances by id, jobs by id, children level by level.
 */
export function* flush(d: Dialect, transitions: readonly JobTransition[], now: Date): Operation<TransitionResult[]> {
  const results = new Map<JobTransition, TransitionResult>();
  const instances = yield* lockInstances(transitions, results);
  const open = transitions.filter((transition) => !results.has(transition));
  const rows = yield* fence(open, results);
  const owned = open.filter((transition) => !results.has(transition));

  const decisions = yield* decide(owned, rows, instances, results, now);
  const continuations = yield* lockContinuations(decisions, results);
  const kept = decisions.filter(({ transition }) => !results.has(transition));

  yield* write(d, kept, [...instances.values()], now);
  yield* settleContinuations(continuations, now.getTime());
  return transitions.map((transition) => results.get(transition) ?? APPLIED);
}

/** Locks the jobs that still are as their transitions expect them, and answers the others. */
function* fence(
  transitions: readonly JobTransition[],
  results: Map<JobTransition, TransitionResult>,
): Operation<Map<string, Row>> {
  if (transitions.length === 0) return new Map();
  const locked = byId(yield* query(applyStatements.lockJobs, { ids: idsOf(transitions) }));
  const skipped = transitions.filter(({ id }) => !locked.has(id));
  const reread =
    skipped.length === 0 ? new Map<string, Row>() : byId(yield* query(applyStatements.reread, { ids: idsOf(skipped) }));
  for (const transition of transitions) {
    const row = locked.get(transition.id);
    const standing = standingOf(transition, row ?? reread.get(transition.id));
    if (standing === 'applied') results.set(transition, APPLIED);
    else if (standing === 'fenced') results.set(transition, FENCED);
    else if (!row) results.set(transition, HELD);
  }
  return locked;
}

/** Runs the advances, in order, and settles what each job becomes. */
function* decide(
  transitions: readonly JobTransition[],
  rows: ReadonlyMap<string, Row>,
  instances: Map<string, InstanceDraft>,
  results: Map<JobTransition, TransitionResult>,
  now: Date,
): Operation<Decision[]> {
  const decisions: Decision[] = [];
  const decided = new Map<JobId, TransitionTarget>();
  const flushed = transitions.map((transition) => flushedJob(transition, rows.get(transition.id)));
  for (const [index, transition] of transitions.entries()) {
    const row = rows.get(transition.id) ?? {};
    const closing = Number(row['closing']) !== 0 || isFinishing(instances, transition);
    const target = closing ? closed(transition.target) : transition.target;
    decided.set(transition.id, target);
    try {
      checkNewJobs(transition.enqueue);
      const draft = transition.instanceId === null ? undefined : instances.get(transition.instanceId);
      if (transition.advance && draft) {
        const advanced = yield* draft.advance(transition.advance, flushed.slice(index + 1), decided, now);
        if (advanced) instances.set(draft.instance.id, advanced);
      }
      decisions.push({ transition, row, target });
    } catch (error) {
      decided.delete(transition.id);
      results.set(transition, { outcome: 'rejected', error });
    }
  }
  return decisions;
}

/** A scope that ends lets its running jobs finish, and keeps them from coming back. */
function closed(target: TransitionTarget): TransitionTarget {
  if (target === 'Failed') return 'Dead';
  return target === 'Enqueued' ? 'Cancelled' : target;
}

function isFinishing(instances: ReadonlyMap<string, InstanceDraft>, { id, instanceId }: JobTransition): boolean {
  return instanceId !== null && instances.get(instanceId)?.running.get(id) === 'finish';
}

/** Continuations whose fate is decided here: those that may run, and those that end. */
interface Continuations {
  readonly freed: readonly JobId[];
  readonly ended: readonly JobId[];
}

/** Locks the continuations that the decided transitions set free or take with them. */
function* lockContinuations(
  decisions: readonly Decision[],
  results: Map<JobTransition, TransitionResult>,
): Operation<Continuations> {
  const parents = decisions.filter(({ row }) => Number(row['has_continuations']) !== 0);
  const idsBecoming = (...targets: TransitionTarget[]) =>
    parents.filter(({ target }) => targets.includes(target)).map(({ transition }) => transition.id);
  const freed = yield* lockDirectChildren(idsBecoming('Succeeded'), 'skip');
  const ended = yield* lockClosure(idsBecoming('Dead', 'Cancelled'), 'skip');
  for (const { transition } of parents) {
    if (freed.heldRoots.has(transition.id) || ended.heldRoots.has(transition.id)) results.set(transition, HELD);
  }
  return { freed: idsIn(freed), ended: idsIn(ended) };
}

function idsIn({ closure }: LockedContinuations): JobId[] {
  return [...closure.values()].flat();
}

function* settleContinuations({ freed, ended }: Continuations, at: number): Operation<void> {
  yield* signalReady(yield* activateContinuations(freed, at));
  yield* cancelJobs(ended, at);
}

function* write(
  d: Dialect,
  decisions: readonly Decision[],
  drafts: readonly InstanceDraft[],
  now: Date,
): Operation<void> {
  if (decisions.length === 0) return;
  const at = now.getTime();
  yield* query(flushStatements.move, { moves: JSON.stringify(decisions.map((decision) => moveOf(decision, at))) });
  yield* recordAttempts(decisions.flatMap((decision) => attemptRows(decision, at)));
  yield* writeDrafts(drafts, at);

  const jobs: JobRecord[] = [
    ...decisions.flatMap(({ transition }) => transition.enqueue),
    ...drafts.flatMap((draft) => draft.inserts),
  ];
  if (jobs.length > 0) yield* enqueue(d, jobs, at, false);
  yield* signalReady(decisions.filter(({ target }) => target === 'Enqueued').map(({ row }) => String(row['queue'])));
}

function moveOf({ transition, target }: Decision, at: number) {
  const isFinal = target === 'Succeeded' || target === 'Dead' || target === 'Cancelled';
  return {
    id: transition.id,
    state: JOB_STATE_CODES[target],
    failures: transition.failures,
    due_at: target === 'Failed' || target === 'Scheduled' ? optionalEpoch(transition.dueAt) : null,
    finished_at: isFinal ? at : null,
    last_error: transition.error,
    keeps_error: transition.error === null && target !== 'Failed' ? 1 : 0,
    released: transition.target === 'Enqueued' || transition.target === 'Scheduled' ? 1 : 0,
  };
}

function attemptRows({ transition }: Decision, at: number): AttemptRow[] {
  if (transition.history === null) return [];
  return [
    {
      job_id: transition.id,
      attempt: transition.attempt,
      outcome: transition.history,
      worker_id: transition.workerId,
      error: transition.history === 'Failed' ? transition.error : null,
      recorded_at: at,
    },
  ];
}

function flushedJob(transition: JobTransition, row: Row | undefined): FlushedJob {
  return {
    id: transition.id,
    instanceId: transition.instanceId,
    position: (row?.['position'] ?? null) as string | null,
    scope: (row?.['scope'] ?? null) as string | null,
  };
}
