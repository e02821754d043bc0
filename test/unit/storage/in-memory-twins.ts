import {
  FakeClock,
  type JobRecord,
  type JobTransition,
  JobState,
  type WorkflowInstance,
} from 'nestjs-millrace/storage';
import { advanceInstance } from '../../../lib/storage/in-memory/advance';
import { apply } from '../../../lib/storage/in-memory/apply';
import { expireBookmarks, signal } from '../../../lib/storage/in-memory/bookmarks';
import { cancel } from '../../../lib/storage/in-memory/cancel';
import { claim } from '../../../lib/storage/in-memory/claim';
import { enqueue } from '../../../lib/storage/in-memory/enqueue';
import { createInstance } from '../../../lib/storage/in-memory/instances';
import { probe } from '../../../lib/storage/in-memory/probe';
import { tryFireRecurring, upsertRecurring } from '../../../lib/storage/in-memory/recurring';
import { renew } from '../../../lib/storage/in-memory/renew';
import { evictFinished, prune } from '../../../lib/storage/in-memory/retention';
import { activateDue, runNow } from '../../../lib/storage/in-memory/schedule';
import { Tables } from '../../../lib/storage/in-memory/tables';
import { aDefinition, aJob, anId, claimBy, cutoffs } from '../../../lib/conformance/builders';
import { aBookmark, anInstance, aSignal, changeOf } from '../../../lib/conformance/workflow-builders';

const QUEUES = ['a', 'b'];
const WORKERS = ['w1', 'w2'];
const SCOPES = ['', 'par1.0/', 'par1.1/'];
const RECURRING = ['r1', 'r2'];
const MINUTE = 60_000;

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}

/** All that a store holds, as text. */
export function dump(tables: Tables): string {
  const jobs = [...tables.jobs.all()].map(({ record, attempts }) => ({ ...record, attempts }));
  const instances = [...tables.instances.all()].map(({ record }) => record);
  const held = {
    jobs: jobs.toSorted(byId),
    instances: instances.toSorted(byId),
    bookmarks: instances.toSorted(byId).flatMap(({ id }) => tables.bookmarks.ofInstance(id)),
    definitions: [...tables.recurring.all()].toSorted(byId),
  };
  return JSON.stringify(held, null, 1);
}

/** Random operations on one store, many of which fail, and the same on its twin without those that failed. */
export class Twins {
  readonly store = new Tables();
  readonly twin = new Tables();
  failures = 0;
  private readonly clock = new FakeClock();
  private readonly jobIds: string[] = [];
  private readonly instances: WorkflowInstance[] = [];
  private next = 0;

  constructor(private readonly rolls: readonly number[]) {}

  get isOver(): boolean {
    return this.next >= this.rolls.length;
  }

  step(): void {
    const actions = [
      () => this.enqueue(),
      () => this.enqueue(),
      () => this.claim(),
      () => this.claim(),
      () => this.apply(),
      () => this.apply(),
      () => this.apply(),
      () => this.clock.advance(this.of([1000, MINUTE, 10 * MINUTE, -MINUTE])),
      () => this.manage(),
      () => this.schedule(),
      () => this.recur(),
      () => this.createInstance(),
      () => this.advance(),
      () => this.wake(),
      () => this.clean(),
      () => this.renew(),
    ];
    this.of(actions)();
  }

  /** What a store would do next, as far as it can be seen from outside. */
  outlook(tables: Tables): unknown {
    const now = this.clock.now();
    const retention = cutoffs({
      succeeded: now,
      dead: now,
      cancelled: now,
      completedInstances: now,
      failedInstances: now,
    });
    return {
      probe: probe(tables, { queues: QUEUES, retention }, now),
      due: tables.jobs.due.peek()?.id,
      dueRecurring: tables.recurring.dueAt(now, 10).map(({ id }) => id),
      waiting: tables.bookmarks.oldest('approval', 'order-1', null)?.id,
      expiring: tables.bookmarks.firstToExpire()?.id,
      newest: RECURRING.map((id) => tables.jobs.newestOccurrence(id)?.id),
      finished: tables.jobs.finishedSize + tables.instances.finishedJobs,
    };
  }

  private enqueue(): void {
    const jobs = Array.from({ length: 1 + this.roll(4) }, () => this.aRecord());
    this.both((tables, now) => enqueue(tables, jobs, now));
  }

  private claim(): void {
    const request = claimBy(this.of(WORKERS), {
      queues: this.of([QUEUES, ['a'], ['b']]),
      limit: 1 + this.roll(3),
      leaseDuration: this.of([MINUTE, 5 * MINUTE]),
      expired: this.roll(3) > 0,
      suspects: this.roll(3) > 0,
    });
    this.both((tables, now) => claim(tables, request, now));
  }

  /** Of the transitions of one call the rejected ones are left out on the twin. */
  private apply(): void {
    const held = [...this.store.jobs.all()].filter(({ record }) => record.state === JobState.Processing);
    if (held.length === 0) return;
    const transitions = Array.from({ length: 1 + this.roll(3) }, () => this.aTransition(this.of(held).record));
    const now = this.clock.now();
    const results = apply(this.store, transitions, now);
    this.store.changes.commit();
    const isStored = (_: unknown, index: number): boolean => results[index]?.outcome !== 'rejected';
    this.failures += results.filter(({ outcome }) => outcome === 'rejected').length;
    expect(apply(this.twin, transitions.filter(isStored), now)).toEqual(results.filter(isStored));
    this.twin.changes.commit();
  }

  private manage(): void {
    const [id, action] = [this.anyId(), this.roll(3)];
    if (action === 0) this.both((tables, now) => runNow(tables, id, now));
    else this.both((tables, now) => cancel(tables, id, now));
  }

  private schedule(): void {
    this.both((tables, now) => activateDue(tables, 2, now));
  }

  private recur(): void {
    const [id, action] = [this.of(RECURRING), this.roll(4)];
    const expected = this.clock.now();
    const job = this.roll(4) === 0 ? null : this.aRecord({ recurringId: id });
    const definition = aDefinition(this.clock, { id, nextFireTime: expected, tenantId: this.of([null, null, 't']) });
    if (action === 0) this.both(({ recurring }) => recurring.remove(id));
    else if (action === 1) this.both((tables) => upsertRecurring(tables, definition));
    else {
      const at = this.store.recurring.get(id)?.nextFireTime ?? expected;
      this.both((tables, now) => tryFireRecurring(tables, id, at, new Date(at.getTime() + MINUTE), job, now));
    }
  }

  private createInstance(): void {
    const instance = anInstance(this.clock, { startKey: this.of([null, 'k']), ...this.duplicate(this.instances) });
    const jobs = Array.from({ length: this.roll(4) }, () => this.aStep(instance));
    const bookmarks = Array.from({ length: this.roll(3) }, () => this.aWait(instance));
    this.instances.push(instance);
    this.both((tables, now) => createInstance(tables, { instance, jobs, bookmarks }, now));
  }

  private advance(): void {
    if (this.instances.length === 0) return;
    const { id } = this.of(this.instances);
    const decide = this.anAdvance();
    this.both((tables, now) => advanceInstance(tables, id, decide, new Set(), now));
  }

  private wake(): void {
    const [job, another, isSignal] = [this.aRecord(), this.aRecord(), this.roll(2) === 0];
    if (isSignal) this.both((tables, now) => signal(tables, aSignal(this.clock, { job }), now));
    else this.both((tables, now) => this.expire(tables, [job, another], now));
  }

  private expire(tables: Tables, jobs: readonly JobRecord[], now: Date): number {
    const resume = jobs.values();
    return expireBookmarks(tables, jobs.length, () => resume.next().value ?? aJob(this.clock), now);
  }

  private clean(): void {
    const [keep, limit] = [this.roll(6), 1 + this.roll(4)];
    const cutoff = new Date(this.clock.now().getTime() - MINUTE);
    const given = cutoffs({
      succeeded: cutoff,
      cancelled: cutoff,
      completedInstances: cutoff,
      failedInstances: cutoff,
    });
    if (keep > 3) this.both((tables) => prune(tables, given, limit));
    else if (keep > 1) this.both((tables) => evictFinished(tables, keep));
  }

  private renew(): void {
    const [worker, id] = [this.of(WORKERS), this.anyId()];
    const attempt = this.store.jobs.get(id)?.record.attempt ?? 1;
    this.both((tables, now) => {
      const { answers, unlisted } = renew(tables, worker, [{ id, attempt }], MINUTE, now);
      return { answers, unlisted: unlisted.toSorted(byId) };
    });
  }

  /** Runs an operation on the store and, unless it fails, on the twin; a failed one must leave no trace. */
  private both(operation: (tables: Tables, now: Date) => unknown): void {
    const now = this.clock.now();
    const before = dump(this.store);
    let result: unknown;
    try {
      result = operation(this.store, now);
      this.store.changes.commit();
    } catch {
      this.store.changes.rollback();
      this.failures++;
      expect(dump(this.store)).toBe(before);
      return;
    }
    const expected = operation(this.twin, now);
    this.twin.changes.commit();
    expect(result).toEqual(expected);
  }

  /** Often one that cannot be stored: a stranger for a parent, an id that is taken. */
  private aRecord(fields: Partial<JobRecord> = {}): JobRecord {
    const state = this.of([JobState.Enqueued, JobState.Enqueued, JobState.Scheduled, JobState.Awaiting]);
    const parentId = this.roll(5) === 0 ? anId(this.clock) : this.anyId();
    const job = aJob(this.clock, {
      state,
      parentId: state === JobState.Awaiting ? parentId : null,
      dueAt: state === JobState.Scheduled ? new Date(this.clock.now().getTime() + this.roll(3) * MINUTE) : null,
      queue: this.of(QUEUES),
      priority: this.roll(3),
      idempotencyKey: this.of([null, null, 'k1', 'k2']),
      tenantId: this.of([null, null, 't']),
      recurringId: this.of([null, null, ...RECURRING]),
      interruptions: this.roll(6) === 0 ? 2 : 0,
      ...this.duplicate(this.jobIds.map((id) => ({ id }))),
      ...fields,
    });
    this.jobIds.push(job.id);
    return job;
  }

  private aStep(instance: WorkflowInstance): JobRecord {
    return this.aRecord({ instanceId: instance.id, scope: this.of(SCOPES), recurringId: null, idempotencyKey: null });
  }

  private aWait(instance: WorkflowInstance): ReturnType<typeof aBookmark> {
    const expiresAt = this.roll(2) === 0 ? null : new Date(this.clock.now().getTime() + MINUTE);
    return aBookmark(this.clock, instance, { scope: this.of(SCOPES), expiresAt });
  }

  private aTransition({ id, workerId, attempt, instanceId }: JobRecord): JobTransition {
    const target = this.of(['Succeeded', 'Succeeded', 'Failed', 'Dead', 'Cancelled', 'Enqueued', 'Scheduled'] as const);
    return {
      id,
      workerId: this.roll(8) === 0 ? 'stranger' : (workerId ?? ''),
      attempt,
      target,
      failures: this.roll(3),
      dueAt: target === 'Failed' || target === 'Scheduled' ? new Date(this.clock.now().getTime() + MINUTE) : null,
      error: this.of([null, 'boom']),
      history: this.of([null, 'Failed', 'Interrupted']),
      enqueue: Array.from({ length: this.roll(3) }, () => this.aRecord()),
      instanceId,
      advance: instanceId === null ? null : this.anAdvance(),
    };
  }

  private anAdvance(): NonNullable<JobTransition['advance']> {
    const [kind, second, third] = [this.roll(6), this.roll(5), this.roll(2)];
    const state = this.of(['Running', 'Running', 'Suspended', 'Completed', 'Failed'] as const);
    const scopes = [this.of(SCOPES)];
    const running = this.of(['abort', 'finish'] as const);
    const instance = this.of(this.instances);
    const [early, late] = [this.aStep(instance), this.aStep(instance)];
    const bookmark = this.aWait(instance);
    return (current, event) => {
      if (kind === 0) return null;
      if (kind === 1) throw new Error('the advance failed');
      if (event.kind === 'cancelled') {
        const isThird = event.scopes.length > 1;
        if (second === 0 || (isThird && third === 0)) throw new Error('the advance failed once it had cancelled');
        if (second === 1 || isThird) return null;
        const onceMore = second === 2 ? { scopes: ['', 'par1.0/'], running } : null;
        return changeOf(current, {
          update: { state },
          enqueue: [{ ...late, instanceId: current.id }],
          cancel: onceMore,
        });
      }
      return changeOf(current, {
        update: { state },
        enqueue: [{ ...early, instanceId: current.id }],
        addBookmarks: [{ ...bookmark, instanceId: current.id }],
        removeBookmarks: { scopes },
        cancel: kind > 3 ? { scopes, running } : null,
      });
    };
  }

  /** One time in eight, an id that may be taken. */
  private duplicate(taken: readonly { readonly id: string }[]): { readonly id?: string } {
    return this.roll(8) === 0 && taken.length > 0 ? { id: this.of(taken).id } : {};
  }

  private anyId(): string {
    return this.jobIds.length > 0 && this.roll(10) > 0 ? this.of(this.jobIds) : anId(this.clock);
  }

  private of<T>(choices: readonly T[]): T {
    return choices[this.roll(choices.length)]!;
  }

  /** Draws from the rolls, and zeroes once they are used up. */
  private roll(sides: number): number {
    return (this.rolls[this.next++] ?? 0) % sides;
  }
}
