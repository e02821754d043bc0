import { Inject, Injectable } from '@nestjs/common';
import type { JobId } from '../model/ids';
import type { JobRecord } from '../model/job';
import { JobState } from '../model/job-state';
import { type Milliseconds, SECOND } from '../model/time';
import { Patience } from './patience';
import { WorkerContext } from './worker-context';

/** A node with a free slot takes a job well within this. */
const LONGEST_WAIT: Milliseconds = 250;
/** The shortest time after which a job comes back that was put back: one that others leave alone costs one wait each time. */
const REST: Milliseconds = 5 * SECOND;
const MOST_REMEMBERED = 1000;

/**
 * The jobs that this node has put back because it cannot run them. Once they are due again other nodes come first:
 * otherwise this one could win every race for them, and put them back each time, while a node that knows them is idle.
 *
 * A claim waits only while such a job is there to be claimed, and the scheduler leaves what is due to others only while
 * such a job is due. Both need another node that claims from its queue, both have an end, and after a wait that was in
 * vain there is none for a while: what this node can run is hardly ever held up, whoever the other nodes are.
 */
@Injectable()
export class PutBacks {
  /** By due time, one job for all that have the same one: the last, since others take the ones before it first. */
  private readonly byDueTime = new Map<number, JobId>();
  private earliest = Number.POSITIVE_INFINITY;
  private readonly claimPatience = new Patience(LONGEST_WAIT, REST);
  private readonly activationPatience: Patience;

  constructor(@Inject(WorkerContext) private readonly context: WorkerContext) {
    // Every scheduler has looked once by then. What it activates wakes its own worker at once, on any store.
    this.activationPatience = new Patience(context.options.schedulerInterval + LONGEST_WAIT, REST);
  }

  /** This node has put a job back until then. */
  add(id: JobId, dueAt: Date): void {
    const due = dueAt.getTime();
    if (this.byDueTime.size >= MOST_REMEMBERED && !this.byDueTime.has(due)) return;
    this.byDueTime.set(due, id);
    this.earliest = Math.min(this.earliest, due);
  }

  /** Whether to wait a moment, and ask again, before a claim: it might bring what another node is about to take. */
  async claimsWait(): Promise<boolean> {
    if (this.claimPatience.rests) {
      this.forgetDue();
      return false;
    }
    const job = await this.firstLeftToOthers(JobState.Enqueued);
    // One wait, whichever of them it is for: they may be taken one by one, and this node has work of its own.
    if (job !== null && this.claimPatience.lasts('any of them')) return true;
    this.claimPatience.end();
    return false;
  }

  /** Whether to leave it to the schedulers of other nodes to make claimable what is due. */
  async activationWaits(): Promise<boolean> {
    if (this.activationPatience.rests) return false;
    const job = await this.firstLeftToOthers(JobState.Scheduled);
    return job !== null && this.activationPatience.lasts(`${job.id} at attempt ${job.attempt}`);
  }

  /** The first of them that is due, if it is in this state and another node may change that soon. */
  private async firstLeftToOthers(state: JobState): Promise<JobRecord | null> {
    if (this.earliest > this.now()) return null;
    try {
      const job = await this.firstDue();
      if (job?.state !== state) return null;
      if (await this.isClaimedByOthers(job.queue)) return job;
      this.forgetDue();
    } catch (error) {
      this.context.outages.failed('getJob', error);
    }
    return null;
  }

  /** The first that is due and has not been taken; forgets those before it. */
  private async firstDue(): Promise<JobRecord | null> {
    const now = this.now();
    const giveUp = performance.now() + LONGEST_WAIT;
    for (const due of this.dueTimes(now)) {
      const id = this.byDueTime.get(due);
      const job = id === undefined ? null : await this.context.storage.getJob(id);
      if (job?.state === JobState.Enqueued) return job;
      const next = job?.state === JobState.Scheduled ? job.dueAt : null;
      if (next !== null && next.getTime() <= now) return job;
      this.forget([due]);
      if (job !== null && next !== null) this.add(job.id, next); // another node was faster, and lacks the handler as well
      if (performance.now() > giveUp) break;
    }
    return null;
  }

  private async isClaimedByOthers(queue: string): Promise<boolean> {
    const nodes = await this.context.storage.getNodes();
    return nodes.some(({ id, queues }) => id !== this.context.id && queues.includes(queue));
  }

  private dueTimes(now: number): number[] {
    return [...this.byDueTime.keys()].filter((due) => due <= now).toSorted((a, b) => a - b);
  }

  private forgetDue(): void {
    this.forget(this.dueTimes(this.now()));
  }

  private forget(dueTimes: readonly number[]): void {
    for (const due of dueTimes) this.byDueTime.delete(due);
    this.earliest = Math.min(...this.byDueTime.keys());
  }

  private now(): number {
    return this.context.clock.now().getTime();
  }
}
