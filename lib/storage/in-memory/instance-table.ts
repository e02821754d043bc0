import type { InstanceId } from '../../model/ids';
import { InstanceState, isInstanceTerminal, type WorkflowInstance } from '../../model/workflow-instance';
import type { Changes } from './changes';
import { copyInstance } from './copies';
import { Heap, type HeapMember } from './heap';
import type { JobTable } from './job-table';

/** An instance as the store holds it. */
export interface StoredInstance extends HeapMember {
  /** Replaced, never changed. */
  record: WorkflowInstance;
  heap: Heap<StoredInstance> | null;
  /** When it ended, in milliseconds. */
  at: number;
  /** Its jobs, all of them ended; counted when it entered the heap. */
  jobs: number;
}

/** All instances, with the start keys of live ones, and those that have ended by the time of that. */
export class InstanceTable {
  private readonly byId = new Map<InstanceId, StoredInstance>();
  private readonly startKeys = new Map<string, InstanceId>();
  private jobsOfFinished = 0;

  /** Ended, with no job that still is open: free to be deleted. */
  readonly finished = {
    completed: new Heap<StoredInstance>(earlier),
    failed: new Heap<StoredInstance>(earlier),
  };

  constructor(
    private readonly changes: Changes,
    private readonly jobs: () => JobTable,
  ) {}

  get finishedSize(): number {
    return this.finished.completed.size + this.finished.failed.size;
  }

  /** Jobs of the finished ones; an instance without any counts as one. */
  get finishedJobs(): number {
    return this.jobsOfFinished;
  }

  get(id: InstanceId): StoredInstance | undefined {
    return this.byId.get(id);
  }

  all(): Iterable<StoredInstance> {
    return this.byId.values();
  }

  /** The live instance that holds the start key of this one. */
  holderOf(instance: WorkflowInstance): InstanceId | undefined {
    return instance.startKey === null ? undefined : this.startKeys.get(keyOf(instance));
  }

  insert(record: WorkflowInstance): void {
    const instance: StoredInstance = { record: copyInstance(record), heap: null, slot: 0, at: 0, jobs: 0 };
    this.attach(instance);
    this.changes.record(() => this.detach(instance));
  }

  update(instance: StoredInstance, record: WorkflowInstance): void {
    const before = instance.record;
    this.replace(instance, record);
    this.changes.record(() => this.replace(instance, before));
  }

  remove(instance: StoredInstance): void {
    this.detach(instance);
    this.changes.record(() => this.attach(instance));
  }

  /** Looks again whether an instance is free to be deleted: its last open job ended, or one was opened. */
  review(id: InstanceId): void {
    const instance = this.byId.get(id);
    if (instance === undefined) return;
    this.leaveFinished(instance);
    this.enterFinished(instance);
  }

  private replace(instance: StoredInstance, record: WorkflowInstance): void {
    this.detach(instance);
    instance.record = record;
    this.attach(instance);
  }

  private attach(instance: StoredInstance): void {
    const { record } = instance;
    this.byId.set(record.id, instance);
    if (record.startKey !== null && !isInstanceTerminal(record.state)) this.startKeys.set(keyOf(record), record.id);
    this.enterFinished(instance);
  }

  private detach(instance: StoredInstance): void {
    const { record } = instance;
    this.byId.delete(record.id);
    if (record.startKey !== null && !isInstanceTerminal(record.state)) this.startKeys.delete(keyOf(record));
    this.leaveFinished(instance);
  }

  private enterFinished(instance: StoredInstance): void {
    const { id, state, finishedAt } = instance.record;
    if (!finishedAt || this.jobs().openOfInstance(id).size > 0) return;
    instance.at = finishedAt.getTime();
    instance.jobs = Math.max(1, this.jobs().ofInstance(id).size);
    instance.heap = state === InstanceState.Failed ? this.finished.failed : this.finished.completed;
    instance.heap.push(instance);
    this.jobsOfFinished += instance.jobs;
  }

  private leaveFinished(instance: StoredInstance): void {
    if (instance.heap === null) return;
    instance.heap.remove(instance);
    instance.heap = null;
    this.jobsOfFinished -= instance.jobs;
  }
}

function earlier(a: StoredInstance, b: StoredInstance): boolean {
  return a.at === b.at ? a.record.id < b.record.id : a.at < b.at;
}

/** JSON tells no tenant from the empty one, and where one part ends. */
function keyOf({ tenantId, definitionId, startKey }: WorkflowInstance): string {
  return JSON.stringify([tenantId, definitionId, startKey]);
}
