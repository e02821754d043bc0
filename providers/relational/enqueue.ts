import {
  DuplicateJobError,
  isTerminal,
  type JobId,
  type JobRecord,
  JobState,
  jobStateOf,
  ParentJobNotFoundError,
  StorageError,
  WorkflowJobParentError,
} from '../../lib/storage';
import type { Dialect } from './dialect';
import { LARGEST_STATEMENT } from './chunks';
import { isPlain } from './new-jobs';
import { type Operation, query, signalReady } from './operation';
import { activeKeyOf, groupedJobs, OWN_COLUMNS, SHARED_COLUMNS } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';

const COLUMNS = [...OWN_COLUMNS, ...SHARED_COLUMNS];

const selectRows = (d: Dialect) => {
  const groups = d.groupedRowset(':jobs', typesOf('jobs', SHARED_COLUMNS), typesOf('jobs', OWN_COLUMNS), 'r');
  return `select ${COLUMNS.map((column) => `r.${column}`).join(', ')} from ${groups} where 1 = 1`;
};

export const enqueueStatements = {
  insert: {
    name: 'enqueue',
    text: (d) => d.insert({ table: 'jobs', columns: COLUMNS, select: selectRows(d), notify: ':ready', returning: [] }),
  },
  insertUnlessTaken: {
    name: 'enqueue_unless_taken',
    text: (d) =>
      d.insert({
        table: 'jobs',
        columns: COLUMNS,
        // Keys are taken in one order by everybody: two batches with the same keys in opposite order cannot deadlock.
        select: `${selectRows(d)} order by r.active_key, r.id`,
        unlessTaken: { column: 'active_key', value: 'r.active_key' },
        notify: 'gained',
        returning: ['id'],
      }),
  },
  holders: {
    name: 'enqueue_holders',
    text: (d) =>
      d.select({ columns: 'id, active_key', table: 'jobs', where: d.inList('active_key', ':keys', 'text(656)') }),
  },
  stored: {
    name: 'enqueue_stored',
    text: (d) => d.select({ columns: 'id', table: 'jobs', where: d.inList('id', ':ids', 'id') }),
  },
  lockParents: {
    name: 'enqueue_lock_parents',
    text: (d) =>
      d.select({
        columns: 'id, state, instance_id',
        table: 'jobs',
        where: d.inList('id', ':ids', 'id'),
        orderBy: 'id',
        lock: 'wait',
      }),
  },
  markParents: {
    name: 'enqueue_mark_parents',
    text: (d) =>
      d.update({
        table: 'jobs',
        as: 'j',
        set: 'has_continuations = 1',
        where: `${d.inList('j.id', ':ids', 'id')} and j.has_continuations = 0`,
        returning: ['id'],
      }),
  },
} satisfies Record<string, Statement>;

const KEY_ROUNDS = 5;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
/** Not the key of an active job: losing a race for that one is settled by another try. */
function isDuplicateId(d: Dialect, error: unknown): boolean {
  return d.classify(error) === 'duplicate' && !(error as Error).message.includes('active_key');
}

/** Which of these jobs is stored already: as the database says, or as it answers when it is asked. */
function* firstStored(jobs: readonly JobRecord[], error: unknown): Operation<JobId> {
  const first = jobs[0]?.id ?? '';
  const told = UUID.exec((error as { detail?: string }).detail ?? '')?.[0];
  if (told !== undefined || jobs.length === 1) return told ?? first;
  try {
    const [row] = yield* query(enqueueStatements.stored, { ids: JSON.stringify(idsOf(jobs)) });
    return row ? String(row['id']) : first;
  } catch {
    return first; // the transaction takes no further statement
  }
}

/** Stores jobs and answers their effective ids, see IJobStorage.enqueue. The transaction around it makes it all or none. */
export function* enqueue(d: Dialect, jobs: readonly JobRecord[], now: number, again: boolean): Operation<JobId[]> {
  if (!again && jobs.every(isPlain)) return idsOf(yield* insertOnce(d, jobs));
  const effective = new Map<JobId, JobId>();
  let waiting: readonly JobRecord[] = jobs;
  if (again) waiting = yield* withoutStored(jobs, effective);

  while (waiting.length > 0) {
    const pending = new Set(waiting.map((job) => job.id));
    const round = waiting.filter((job) => job.state !== JobState.Awaiting || !pending.has(parentOf(job)));
    const decided = yield* decideContinuations(round, effective, now);
    yield* insertAll(d, decided, effective);
    waiting = waiting.filter((job) => !effective.has(job.id));
  }
  return jobs.map((job) => effective.get(job.id) ?? job.id);
}

/** After a lost answer: if one of the jobs is there, they were all committed. */
function* withoutStored(jobs: readonly JobRecord[], effective: Map<JobId, JobId>): Operation<readonly JobRecord[]> {
  const rows = yield* query(enqueueStatements.stored, { ids: JSON.stringify(idsOf(jobs)) });
  if (rows.length === 0) return jobs;
  for (const row of rows) effective.set(String(row['id']), String(row['id']));
  const deduplicated = jobs.filter((job) => !effective.has(job.id));
  yield* resolveHolders(deduplicated, effective);
  return deduplicated.filter((job) => !effective.has(job.id));
}

/** Locks the parents of Awaiting jobs and gives each job the state that its parent's state asks for. */
function* decideContinuations(
  round: readonly JobRecord[],
  effective: ReadonlyMap<JobId, JobId>,
  now: number,
): Operation<readonly JobRecord[]> {
  const continuations = round.filter((job) => job.state === JobState.Awaiting);
  if (continuations.length === 0) return round;

  const parentIds = new Set(continuations.map((job) => effectiveParent(job, effective)));
  const rows = yield* query(enqueueStatements.lockParents, { ids: JSON.stringify([...parentIds]) });
  const parents = new Map(rows.map((row) => [String(row['id']), row]));
  const decided = round.map((job) => {
    if (job.state !== JobState.Awaiting) return job;
    const parentId = effectiveParent(job, effective);
    const parent = parents.get(parentId);
    if (!parent) throw new ParentJobNotFoundError(parentId, job.id);
    if (parent['instance_id'] != null) throw new WorkflowJobParentError(parentId, job.id);
    return continuationOf(job, parentId, jobStateOf(Number(parent['state'])), new Date(now));
  });

  const waitedFor = new Set(decided.filter((job) => job.state === JobState.Awaiting).map(parentOf));
  if (waitedFor.size > 0) yield* query(enqueueStatements.markParents, { ids: JSON.stringify([...waitedFor]) });
  return decided;
}

function continuationOf(job: JobRecord, parentId: JobId, parent: JobState, now: Date): JobRecord {
  if (!isTerminal(parent)) return { ...job, parentId };
  if (parent === JobState.Succeeded) return { ...job, parentId, state: JobState.Enqueued, readyAt: now };
  return { ...job, parentId, state: JobState.Cancelled, finishedAt: now };
}

/** Inserts in one statement; what met an active holder of its key takes the holder's id. */
function* insertAll(d: Dialect, jobs: readonly JobRecord[], effective: Map<JobId, JobId>): Operation<void> {
  let missing = jobs;
  for (let round = 0; missing.length > 0; round++) {
    if (round === KEY_ROUNDS) throw new KeyUnresolvableError(missing[0]?.idempotencyKey ?? '');
    for (const job of yield* insertOnce(d, missing)) effective.set(job.id, job.id);
    const held = missing.filter((job) => !effective.has(job.id));
    yield* resolveHolders(held, effective);
    // A holder that ended between the two statements left the key free: insert again.
    missing = held.filter((job) => !effective.has(job.id));
  }
}

/** Answers the jobs that were inserted: all, but for those whose key is held. */
function* insertOnce(d: Dialect, jobs: readonly JobRecord[]): Operation<readonly JobRecord[]> {
  const inserted = jobs.some((job) => activeKey(job) !== null) ? new Set<unknown>() : null;
  const ready = inserted ? '' : JSON.stringify(readyQueues(jobs));
  try {
    for (const text of groupedJobs(jobs, activeKey, LARGEST_STATEMENT)) {
      if (inserted) {
        for (const { id } of yield* query(enqueueStatements.insertUnlessTaken, { jobs: text })) inserted.add(id);
      } else {
        yield* query(enqueueStatements.insert, { jobs: text, ready });
      }
    }
  } catch (error) {
    throw isDuplicateId(d, error) ? new DuplicateJobError(yield* firstStored(jobs, error)) : error;
  }
  const stored = inserted ? jobs.filter(({ id }) => inserted.has(id)) : jobs;
  if (!d.insertNotifies) yield* signalReady(readyQueues(stored));
  return stored;
}

function readyQueues(jobs: readonly JobRecord[]): string[] {
  const queues = new Set<string>();
  for (const { state, queue } of jobs) if (state === JobState.Enqueued) queues.add(queue);
  return [...queues];
}

function* resolveHolders(jobs: readonly JobRecord[], effective: Map<JobId, JobId>): Operation<void> {
  if (jobs.length === 0) return;
  const rows = yield* query(enqueueStatements.holders, { keys: JSON.stringify(jobs.map(activeKey)) });
  const holders = new Map(rows.map((row) => [String(row['active_key']), String(row['id'])]));
  for (const job of jobs) {
    const holder = holders.get(activeKey(job) ?? '');
    if (holder !== undefined) effective.set(job.id, holder);
  }
}

/** A continuation that is born Cancelled takes no part in the uniqueness of keys. */
function activeKey(job: JobRecord): string | null {
  return job.state === JobState.Cancelled ? null : activeKeyOf(job.tenantId, job.idempotencyKey);
}

function idsOf(jobs: readonly JobRecord[]): JobId[] {
  return jobs.map(({ id }) => id);
}

function parentOf(job: JobRecord): JobId {
  return job.parentId ?? '';
}

function effectiveParent(job: JobRecord, effective: ReadonlyMap<JobId, JobId>): JobId {
  return effective.get(parentOf(job)) ?? parentOf(job);
}

/** Thrown when a key was held at each of several tries and its holder gone at each look: somebody turns jobs over very fast. */
export class KeyUnresolvableError extends StorageError {
  readonly code = 'MILLRACE_KEY_UNRESOLVABLE';

  constructor(readonly idempotencyKey: string) {
    super(
      `The holder of idempotency key "${idempotencyKey}" changed at every look. Nothing was stored; enqueue again.`,
    );
  }
}
