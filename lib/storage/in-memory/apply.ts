import type { JobId } from '../../model/ids';
import type { JobRecord } from '../../model/job';
import type { JobAttempt } from '../../model/job-attempt';
import { isTerminal, JobState } from '../../model/job-state';
import type { JobTransition, TransitionResult, TransitionTarget } from '../../model/job-transition';
import { InstanceNotFoundError, InvalidJobRecordError } from '../storage.errors';
import { advanceInstance } from './advance';
import { activateContinuations, cancelContinuations } from './continuations';
import { copyInstant } from './copies';
import { enqueue } from './enqueue';
import { isOwner } from './renew';
import type { StoredJob } from './stored-job';
import type { Tables } from './tables';

const TARGETS: ReadonlySet<TransitionTarget> = new Set([
  JobState.Succeeded,
  JobState.Failed,
  JobState.Dead,
  JobState.Cancelled,
  JobState.Enqueued,
  JobState.Scheduled,
]);

const APPLIED: TransitionResult = Object.freeze({ outcome: 'applied' });
const FENCED: TransitionResult = Object.freeze({ outcome: 'fenced' });

/** Ends executions, one after the other: each finds what those before it have written. */
export function apply(tables: Tables, transitions: readonly JobTransition[], now: Date): TransitionResult[] {
  const applied = new Set<JobId>();
  const unborn = new Set<JobId>();
  return transitions.map((transition): TransitionResult => {
    const job = tables.jobs.get(transition.id);
    if (job === undefined || applied.has(transition.id)) return FENCED;
    if (!isOwner(job.record, transition.workerId, transition.attempt)) {
      return wasApplied(job.record, transition) ? APPLIED : FENCED;
    }
    const before = tables.changes.savepoint();
    try {
      end(tables, job, transition, unborn, now);
    } catch (error) {
      tables.changes.rollback(before);
      return { outcome: 'rejected', error };
    }
    applied.add(transition.id);
    return APPLIED;
  });
}

function end(tables: Tables, job: StoredJob, transition: JobTransition, unborn: Set<JobId>, now: Date): void {
  const record = endedRecord(job.record, transition, now);
  tables.jobs.update(job, record, attemptRow(job.record, transition, now));
  // A key that this job held is free by now, so that a successor may carry it.
  if (transition.enqueue.length > 0) enqueue(tables, transition.enqueue, now);
  if (record.state === JobState.Enqueued) tables.changes.ready(record.queue);
  if (record.state === JobState.Succeeded) activateContinuations(tables, job, now);
  else if (isTerminal(record.state)) cancelContinuations(tables, job, now);
  const { instanceId, advance } = transition;
  if (instanceId === null || advance === null) return;
  if (!tables.instances.get(instanceId)) throw new InstanceNotFoundError(instanceId, transition.id);
  advanceInstance(tables, instanceId, advance, unborn, now);
}

function endedRecord(job: JobRecord, transition: JobTransition, now: Date): JobRecord {
  const { failures, error } = transition;
  const state = effectiveTarget(job, transition.target);
  if (!TARGETS.has(state))
    throw new InvalidJobRecordError(`Job ${job.id} cannot become ${state} as its execution ends.`);
  const waits = state === JobState.Failed || state === JobState.Scheduled;
  const isReleased = state === JobState.Enqueued || state === JobState.Scheduled;
  return {
    ...job,
    state,
    readyAt: waits ? null : job.readyAt,
    dueAt: waits ? dueAtOf(transition) : null,
    workerId: null,
    leaseUntil: null,
    failures,
    releases: isReleased ? job.releases + 1 : job.releases,
    lastError: transition.target === JobState.Failed ? error : (error ?? job.lastError),
    finishedAt: isTerminal(state) ? now : null,
  };
}

/** A job whose workflow scope has ended does not come back; put back, it waits for a node that can end it for its instance. */
function effectiveTarget({ closing }: JobRecord, target: TransitionTarget): TransitionTarget {
  if (!closing) return target;
  if (target === JobState.Failed) return JobState.Dead;
  return target === JobState.Enqueued ? JobState.Cancelled : target;
}

function dueAtOf({ id, target, dueAt }: JobTransition): Date {
  if (dueAt === null) throw new InvalidJobRecordError(`Job ${id} becomes ${target} and has no dueAt. Pass one.`);
  return copyInstant(dueAt, 'dueAt');
}

function attemptRow(job: JobRecord, transition: JobTransition, now: Date): JobAttempt | undefined {
  const { history, error } = transition;
  if (history === null) return undefined;
  return { attempt: job.attempt, outcome: history, recordedAt: now, workerId: job.workerId, error };
}

/** Whether a transition that was sent before is found done; its first answer may have been lost. */
function wasApplied(job: JobRecord, { attempt, target }: JobTransition): boolean {
  return job.attempt === attempt && job.workerId === null && job.state === effectiveTarget(job, target);
}
