import type { JobId } from '../../model/ids';
import type { JobRecord } from '../../model/job';
import { isTerminal, JobState } from '../../model/job-state';
import {
  DuplicateJobError,
  InvalidJobRecordError,
  ParentJobNotFoundError,
  WorkflowJobParentError,
} from '../storage.errors';
import { copyJob } from './copies';
import type { Tables } from './tables';

/** Stores jobs, except those whose key is held. Answers the effective id of each, by position. */
export function enqueue(tables: Tables, records: readonly JobRecord[], now: Date): JobId[] {
  const { jobs, changes } = tables;
  const effective = new Map<JobId, JobId>();
  for (const record of records) {
    const { id, parentId } = record;
    if (effective.has(id) || jobs.get(id)) throw new DuplicateJobError(id);
    const job = newRecord(tables, record, parentId === null ? null : (effective.get(parentId) ?? parentId), now);
    const holder = isTerminal(job.state) ? undefined : jobs.holderOf(job);
    effective.set(id, holder ?? id);
    if (holder !== undefined) continue;
    jobs.insert(job);
    if (job.state === JobState.Enqueued) changes.ready(job.queue);
  }
  return [...effective.values()];
}

/** A copy that nobody has seen yet, so that it may still be changed. */
type NewRecord = { -readonly [Field in keyof JobRecord]: JobRecord[Field] };

function newRecord(tables: Tables, record: JobRecord, parentId: JobId | null, now: Date): JobRecord {
  const job: NewRecord = copyJob(record);
  const { id, state, readyAt, dueAt } = job;
  job.parentId = parentId;
  job.readyAt = job.dueAt = job.workerId = job.leaseUntil = job.finishedAt = null;
  switch (state) {
    case JobState.Enqueued:
      job.readyAt = readyAt ?? job.createdAt;
      return job;
    case JobState.Scheduled:
      if (dueAt === null) throw new InvalidJobRecordError(`Job ${id} is Scheduled and has no dueAt. Pass one.`);
      job.dueAt = dueAt;
      return job;
    case JobState.Awaiting:
      return asContinuation(tables, job, now);
    case JobState.Processing:
    case JobState.Succeeded:
    case JobState.Failed:
    case JobState.Dead:
    case JobState.Cancelled:
    default:
      throw new InvalidJobRecordError(
        `Job ${id} cannot start as ${state}. Pass it as Scheduled, Enqueued or Awaiting.`,
      );
  }
}

/** A continuation takes part in what has become of its parent already. */
function asContinuation({ jobs }: Tables, job: NewRecord, now: Date): JobRecord {
  const { id, parentId } = job;
  if (parentId === null) throw new InvalidJobRecordError(`Job ${id} is Awaiting and has no parentId. Pass one.`);
  const parent = jobs.get(parentId)?.record;
  if (parent === undefined) throw new ParentJobNotFoundError(parentId, id);
  if (parent.instanceId !== null) throw new WorkflowJobParentError(parentId, id);
  if (parent.state === JobState.Succeeded) {
    job.state = JobState.Enqueued;
    job.readyAt = now;
  } else if (isTerminal(parent.state)) {
    job.state = JobState.Cancelled;
    job.finishedAt = now;
  }
  return job;
}
