import {
  type Advance,
  type Bookmark,
  type InstanceChange,
  isInstanceTerminal,
  isTerminal,
  type JobId,
  type JobRecord,
  JobState,
  jobStateOf,
  type TransitionTarget,
  type RunningStep,
  type ScopeCancellation,
  type WorkflowInstance,
} from '../../lib/storage';
import { type Operation, query, type Row } from './operation';
import type { Statement } from './statement';

export const advanceStatements = {
  openJobs: {
    name: 'open_jobs_of_instance',
    text: (d) =>
      d.select({
        columns: 'id, scope',
        table: 'jobs',
        where: 'instance_id = :id and state in (0, 1, 2, 4, 7)',
      }),
  },
  lockJobs: {
    name: 'lock_jobs_of_instance',
    text: (d) =>
      d.select({
        columns: 'id, state, position, scope',
        table: 'jobs',
        where: `${d.inList('id', ':ids', 'id')} and state in (0, 1, 2, 4, 7)`,
        orderBy: 'id',
        lock: 'wait',
      }),
  },
} satisfies Record<string, Statement>;

const MOST_CANCELLATIONS = 100;

/** A job whose own transition comes in the same flush. */
export interface FlushedJob {
  readonly id: JobId;
  readonly position: string | null;
  readonly scope: string | null;
  readonly instanceId: string | null;
}

/**
 * What the transitions of one flush make of one instance, decided in memory and written once.
 *
 * Each advance works on a draft: it is kept as a whole, or dropped as a whole when the advance throws.
 */
export class InstanceDraft {
  private constructor(
    /** As it was before this flush. */
    public readonly before: WorkflowInstance,
    public instance: WorkflowInstance,
    public changed: boolean,
    public inserts: readonly JobRecord[],
    public bookmarks: readonly Bookmark[],
    public readonly removedBookmarks: Set<string>,
    public readonly removedScopes: Set<string>,
    /** Pending jobs that end here. */
    public readonly cancelled: Set<JobId>,
    /** Running jobs: what they are told. */
    public readonly running: Map<JobId, ScopeCancellation['running']>,
  ) {}

  static of(instance: WorkflowInstance): InstanceDraft {
    return new InstanceDraft(instance, instance, false, [], [], new Set(), new Set(), new Set(), new Map());
  }

  private copy(): InstanceDraft {
    return new InstanceDraft(
      this.before,
      this.instance,
      this.changed,
      this.inserts,
      this.bookmarks,
      new Set(this.removedBookmarks),
      new Set(this.removedScopes),
      new Set(this.cancelled),
      new Map(this.running),
    );
  }

  /**
   * Calls `advance` and answers the draft with its change; null when nothing moves.
   *
   * @param later jobs of the same flush whose transitions have not been decided yet: they count as still running
   * @param decided what the jobs of the same flush become whose transitions come before, and this one's own
   */
  *advance(
    advance: Advance,
    later: readonly FlushedJob[],
    decided: ReadonlyMap<JobId, TransitionTarget>,
    now: Date,
  ): Operation<InstanceDraft | null> {
    let change = advance(this.instance, { kind: 'called' });
    if (change === null) return null;
    const draft = this.copy();
    draft.instance = { ...draft.instance, revision: draft.instance.revision + 1 };
    for (let round = 0; ; round++) {
      const cancel: ScopeCancellation | null = draft.take(change, now);
      if (cancel === null) return draft;
      if (round === MOST_CANCELLATIONS) throw new Error('An advance asked for cancellations without end.');
      const { stillRunning, cancelled } = yield* draft.cancelScopes(cancel, later, decided);
      draft.add(change);
      change = advance(draft.instance, { kind: 'cancelled', scopes: cancel.scopes, stillRunning, cancelled });
      if (change === null) return draft;
    }
  }

  /** Takes over the instance; what is added waits until a cancellation has been carried out. */
  private take(change: InstanceChange, now: Date): ScopeCancellation | null {
    const ended = isInstanceTerminal(change.instance.state);
    this.instance = {
      ...this.instance,
      ...change.instance,
      updatedAt: now,
      finishedAt: ended ? (this.instance.finishedAt ?? now) : null,
    };
    this.changed = true;
    for (const id of change.removeBookmarks.ids ?? []) this.removedBookmarks.add(id);
    for (const scope of change.removeBookmarks.scopes ?? []) this.removedScopes.add(scope);
    const scopes = change.removeBookmarks.scopes ?? [];
    const ids = new Set(change.removeBookmarks.ids);
    this.bookmarks = this.bookmarks.filter((bookmark) => !ids.has(bookmark.id) && !isWithin(bookmark.scope, scopes));
    if (change.cancel === null) this.add(change);
    return change.cancel;
  }

  private add(change: InstanceChange): void {
    this.inserts = [...this.inserts, ...change.enqueue];
    this.bookmarks = [...this.bookmarks, ...change.addBookmarks];
  }

  private *cancelScopes(
    cancel: ScopeCancellation,
    later: readonly FlushedJob[],
    decided: ReadonlyMap<JobId, TransitionTarget>,
  ): Operation<{ readonly stillRunning: readonly RunningStep[]; readonly cancelled: readonly RunningStep[] }> {
    const cancelled = new Map<JobId, RunningStep>();
    // What an earlier event of this flush wanted to insert ends before it is a row.
    this.inserts = this.inserts.filter((job) => {
      const scope = job.scope ?? '';
      if (!isWithin(scope, cancel.scopes)) return true;
      cancelled.set(job.id, { id: job.id, position: job.position, scope });
      return false;
    });
    const stillRunning = new Map<JobId, RunningStep>();
    for (const job of later) {
      if (job.instanceId !== this.instance.id || !isWithin(job.scope ?? '', cancel.scopes)) continue;
      stillRunning.set(job.id, { id: job.id, position: job.position, scope: job.scope ?? '' });
    }
    for (const row of yield* this.openJobsWithin(cancel.scopes)) {
      const id = String(row['id']);
      const target = decided.get(id);
      if (target !== undefined && isTerminal(target)) continue;
      const step: RunningStep = { id, position: (row['position'] ?? null) as string | null, scope: scopeOf(row) };
      // A job that has been put back by this flush waits to run already.
      const waits = target !== undefined || jobStateOf(Number(row['state'])) !== JobState.Processing;
      if (!waits) stillRunning.set(id, step);
      else if (!this.cancelled.has(id)) {
        this.cancelled.add(id);
        cancelled.set(id, step);
      }
    }
    for (const id of stillRunning.keys()) {
      // A job once asked to stop is not told to finish in peace.
      if (this.running.get(id) !== 'abort') this.running.set(id, cancel.running);
    }
    return { stillRunning: byId(stillRunning), cancelled: byId(cancelled) };
  }

  /** Only the holder of the instance's lock waits for locks on its jobs. */
  private *openJobsWithin(scopes: readonly string[]): Operation<readonly Row[]> {
    const open = yield* query(advanceStatements.openJobs, { id: this.instance.id });
    const ids = open.filter((row) => isWithin(scopeOf(row), scopes)).map((row) => row['id']);
    if (ids.length === 0) return [];
    return yield* query(advanceStatements.lockJobs, { ids: JSON.stringify(ids) });
  }
}

function byId(steps: ReadonlyMap<JobId, RunningStep>): RunningStep[] {
  return [...steps.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function scopeOf(row: Row): string {
  return (row['scope'] ?? '') as string;
}

/** True when a scope path is at or below one of `scopes`. Paths end with a slash, so a prefix is a whole part. */
function isWithin(scope: string, scopes: readonly string[]): boolean {
  return scopes.some((prefix) => scope.startsWith(prefix));
}
