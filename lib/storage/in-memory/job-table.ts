import type { InstanceId, JobId } from '../../model/ids';
import type { JobRecord } from '../../model/job';
import { ATTEMPTS_KEPT, type JobAttempt } from '../../model/job-attempt';
import { isTerminal, JobState } from '../../model/job-state';
import type { Changes } from './changes';
import { Groups } from './groups';
import { Heap } from './heap';
import { NewestOccurrences } from './newest-occurrences';
import { QueueIndex } from './queue-index';
import { displace, dueBefore, place, placedBefore, type StoredJob, storedJob } from './stored-job';

/** All jobs, with every index that an operation needs so as not to look at all of them. */
export class JobTable {
  private readonly byId = new Map<JobId, StoredJob>();
  private readonly queues = new Map<string, QueueIndex>();
  private readonly activeKeys = new Map<string, JobId>();
  private readonly awaiting = new Groups<JobId, StoredJob>();
  private readonly owned = new Groups<string, StoredJob>();
  private readonly ofInstances = new Groups<InstanceId, StoredJob>();
  private readonly openOfInstances = new Groups<InstanceId, StoredJob>();
  private readonly newest = new NewestOccurrences((job) => this.replace(job, job.record, job.attempts));

  /** Scheduled and Failed, by due time. */
  readonly due = new Heap<StoredJob>(dueBefore);
  /** Ended, by the time of that, and free to be deleted: no step of a workflow, no newest occurrence of a definition. */
  readonly finished = {
    [JobState.Succeeded]: new Heap<StoredJob>(placedBefore),
    [JobState.Dead]: new Heap<StoredJob>(placedBefore),
    [JobState.Cancelled]: new Heap<StoredJob>(placedBefore),
  };

  /** @param idle is told of an instance whose first job was opened or whose last one ended */
  constructor(
    private readonly changes: Changes,
    private readonly idle: (id: InstanceId) => void,
  ) {}

  get finishedSize(): number {
    return this.finished.Succeeded.size + this.finished.Dead.size + this.finished.Cancelled.size;
  }

  get(id: JobId): StoredJob | undefined {
    return this.byId.get(id);
  }

  all(): Iterable<StoredJob> {
    return this.byId.values();
  }

  queue(name: string): QueueIndex | undefined {
    return this.queues.get(name);
  }

  /** The active job that holds the key of this one in its tenant. */
  holderOf(job: JobRecord): JobId | undefined {
    return job.idempotencyKey === null ? undefined : this.activeKeys.get(activeKey(job.tenantId, job.idempotencyKey));
  }

  /** Direct continuations that still wait for this job. */
  awaitingOn(parentId: JobId): ReadonlySet<StoredJob> {
    return this.awaiting.get(parentId);
  }

  ownedBy(workerId: string): ReadonlySet<StoredJob> {
    return this.owned.get(workerId);
  }

  ofInstance(id: InstanceId): ReadonlySet<StoredJob> {
    return this.ofInstances.get(id);
  }

  openOfInstance(id: InstanceId): ReadonlySet<StoredJob> {
    return this.openOfInstances.get(id);
  }

  newestOccurrence(recurringId: string): JobRecord | undefined {
    return this.newest.get(recurringId)?.record;
  }

  /** Keeps the newest job of a definition, whatever its age, or lets it go. */
  keepNewestOccurrence(recurringId: string, keep: boolean): void {
    this.newest.keep(recurringId, keep);
    this.changes.record(() => this.newest.keep(recurringId, !keep));
  }

  /** @param record a copy of the store's own */
  insert(record: JobRecord): void {
    const job = storedJob(record);
    this.attach(job);
    this.changes.record(() => this.detach(job));
  }

  /** @param attempt a row for its history, which keeps the last ten attempts */
  update(job: StoredJob, record: JobRecord, attempt?: JobAttempt): void {
    const { record: before, attempts } = job;
    this.replace(job, record, attempt ? withAttempt(attempts, attempt) : attempts);
    this.changes.record(() => this.replace(job, before, attempts));
  }

  remove(job: StoredJob): void {
    this.detach(job);
    this.changes.record(() => this.attach(job));
  }

  private replace(job: StoredJob, record: JobRecord, attempts: readonly JobAttempt[]): void {
    const wasActive = !isTerminal(job.record.state);
    const isActive = !isTerminal(record.state);
    this.leaveState(job);
    if (wasActive && !isActive) this.leaveActive(job);
    job.record = record;
    job.attempts = attempts;
    if (isActive && !wasActive) this.enterActive(job);
    this.enterState(job);
    this.dropEmptyQueue(record.queue);
  }

  private attach(job: StoredJob): void {
    const { record } = job;
    this.byId.set(record.id, job);
    if (record.instanceId !== null) this.ofInstances.add(record.instanceId, job);
    if (!isTerminal(record.state)) this.enterActive(job);
    this.enterState(job);
    if (record.recurringId !== null) this.newest.add(record.recurringId, job);
  }

  private detach(job: StoredJob): void {
    const { record } = job;
    this.byId.delete(record.id);
    this.leaveState(job);
    if (!isTerminal(record.state)) this.leaveActive(job);
    if (record.instanceId !== null) this.ofInstances.delete(record.instanceId, job);
    if (record.recurringId !== null) this.newest.delete(record.recurringId, job);
    this.dropEmptyQueue(record.queue);
  }

  private enterActive(job: StoredJob): void {
    const { id, tenantId, idempotencyKey, instanceId } = job.record;
    if (idempotencyKey !== null) this.activeKeys.set(activeKey(tenantId, idempotencyKey), id);
    if (instanceId === null) return;
    this.openOfInstances.add(instanceId, job);
    if (this.openOfInstances.get(instanceId).size === 1) this.idle(instanceId);
  }

  private leaveActive(job: StoredJob): void {
    const { tenantId, idempotencyKey, instanceId } = job.record;
    if (idempotencyKey !== null) this.activeKeys.delete(activeKey(tenantId, idempotencyKey));
    if (instanceId === null) return;
    this.openOfInstances.delete(instanceId, job);
    if (this.openOfInstances.get(instanceId).size === 0) this.idle(instanceId);
  }

  private enterState(job: StoredJob): void {
    const { record } = job;
    switch (record.state) {
      case JobState.Scheduled:
      case JobState.Failed:
        if (record.dueAt) place(job, this.due, record.dueAt);
        return;
      case JobState.Enqueued:
        return this.openQueue(record.queue).enqueue(job);
      case JobState.Processing:
        if (record.workerId !== null) this.owned.add(record.workerId, job);
        return this.openQueue(record.queue).lease(job);
      case JobState.Awaiting:
        if (record.parentId !== null) this.awaiting.add(record.parentId, job);
        return;
      case JobState.Succeeded:
      case JobState.Dead:
      case JobState.Cancelled:
        if (record.instanceId !== null || this.newest.isKept(job) || !record.finishedAt) return;
        return place(job, this.finished[record.state], record.finishedAt);
    }
  }

  private leaveState(job: StoredJob): void {
    const { state, workerId, parentId } = job.record;
    displace(job);
    if (state === JobState.Processing && workerId !== null) this.owned.delete(workerId, job);
    if (state === JobState.Awaiting && parentId !== null) this.awaiting.delete(parentId, job);
  }

  private openQueue(name: string): QueueIndex {
    let queue = this.queues.get(name);
    if (queue === undefined) this.queues.set(name, (queue = new QueueIndex()));
    return queue;
  }

  private dropEmptyQueue(name: string): void {
    if (this.queues.get(name)?.isEmpty === true) this.queues.delete(name);
  }
}

function withAttempt(attempts: readonly JobAttempt[], added: JobAttempt): readonly JobAttempt[] {
  return [...attempts.filter(({ attempt }) => attempt > added.attempt - ATTEMPTS_KEPT), added];
}

/** Names tenant and key in one text, without a second way of reading it; no tenant differs from the empty one. */
function activeKey(tenantId: string | null, key: string): string {
  return tenantId === null ? `-${key}` : `+${tenantId.length}:${tenantId}${key}`;
}
