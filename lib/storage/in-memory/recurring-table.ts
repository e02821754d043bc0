import type { RecurringDefinition } from '../../model/recurring-definition';
import type { Changes } from './changes';
import { copyDefinition } from './copies';
import { Heap, type HeapMember } from './heap';
import type { JobTable } from './job-table';

interface StoredDefinition extends HeapMember {
  readonly record: RecurringDefinition;
}

/** All recurring definitions, the scheduled ones by their next fire time. */
export class RecurringTable {
  private readonly byId = new Map<string, StoredDefinition>();
  private readonly scheduled = new Heap<StoredDefinition>(firesBefore);

  constructor(
    private readonly changes: Changes,
    private readonly jobs: JobTable,
  ) {}

  get(id: string): RecurringDefinition | undefined {
    return this.byId.get(id)?.record;
  }

  *all(): Iterable<RecurringDefinition> {
    for (const { record } of this.byId.values()) yield record;
  }

  /** The first `limit` of those whose time has come. */
  dueAt(now: Date, limit: number): RecurringDefinition[] {
    const due: StoredDefinition[] = [];
    for (let first = this.scheduled.peek(); first && due.length < limit; first = this.scheduled.peek()) {
      if (timeOf(first) > now.getTime()) break;
      due.push(first);
      this.scheduled.remove(first);
    }
    for (const definition of due) this.scheduled.push(definition);
    return due.map(({ record }) => record);
  }

  /** Stores a definition in place of the one that has its id. */
  put(definition: RecurringDefinition): void {
    const record = copyDefinition(definition);
    const before = this.get(record.id);
    this.set(record.id, record);
    this.changes.record(() => this.set(record.id, before));
    if (!before) this.jobs.keepNewestOccurrence(record.id, true);
  }

  remove(id: string): void {
    const before = this.get(id);
    if (before === undefined) return;
    this.set(id, undefined);
    this.changes.record(() => this.set(id, before));
    this.jobs.keepNewestOccurrence(id, false);
  }

  private set(id: string, record: RecurringDefinition | undefined): void {
    const before = this.byId.get(id);
    if (before?.record.nextFireTime) this.scheduled.remove(before);
    if (record === undefined) {
      this.byId.delete(id);
      return;
    }
    const stored = { record, slot: 0 };
    this.byId.set(id, stored);
    if (record.nextFireTime) this.scheduled.push(stored);
  }
}

function firesBefore(a: StoredDefinition, b: StoredDefinition): boolean {
  const [first, second] = [timeOf(a), timeOf(b)];
  return first === second ? a.record.id < b.record.id : first < second;
}

function timeOf({ record }: StoredDefinition): number {
  return record.nextFireTime?.getTime() ?? Infinity;
}
