import type { JobExecution } from '../jobs/job-execution';
import type { JobId } from '../model/ids';
import { type ClaimedJob, SUSPECT_INTERRUPTIONS } from '../model/job';
import type { ClaimRef } from '../model/job-transition';
import type { Milliseconds } from '../model/time';

/** Places of jobs that have left the queue, kept until so many can be cut off at once. */
const CUT_OFF_AT = 512;

/**
 * Where a claimed job stands on this node: just `claimed`, `waiting` for a slot, `running`, `ending` (its transition waits
 * for the store; its handler may still run), or `gone` (acknowledged, or not this node's any more).
 */
export type HeldPhase = 'claimed' | 'waiting' | 'running' | 'ending' | 'gone';

/** A job that this node has claimed. */
export class HeldJob {
  phase: HeldPhase = 'claimed';
  execution: JobExecution | null = null;
  /** Its handler runs no more; how it ends may still be on the way to the store. */
  handlerEnded = false;
  /** How often the store has refused to take its end. */
  rejections = 0;

  constructor(
    readonly job: ClaimedJob,
    /** Milliseconds of a clock that never goes back. */
    readonly claimedAt: Milliseconds,
  ) {}

  /** It waits or runs: how it ends is open. */
  get undecided(): boolean {
    return this.phase === 'waiting' || this.phase === 'running';
  }
}

/** A job whose executions vanished so often that the next may end this process, too. */
export function isSuspect(job: Pick<ClaimedJob, 'interruptions'>): boolean {
  return job.interruptions >= SUSPECT_INTERRUPTIONS;
}

/** The jobs that this node holds: from their claim until the store has acknowledged their end. */
export class RunningJobs {
  /** Handlers that run, also those whose outcome no longer counts. */
  slotsInUse = 0;
  private readonly held = new Map<JobId, HeldJob>();
  private queue: HeldJob[] = [];
  private head = 0;
  private waitingCount = 0;
  private payload = 0;
  private epoch = 0;

  get size(): number {
    return this.held.size;
  }

  get waiting(): number {
    return this.waitingCount;
  }

  get waitingPayload(): number {
    return this.payload;
  }

  /** Jobs that wait or run, and handlers that run on after their outcome has ceased to count. */
  get unfinished(): number {
    return this.waitingCount + this.slotsInUse;
  }

  /** Even while no claim is under way; grows with every start and end of one. */
  get claimEpoch(): number {
    return this.epoch;
  }

  claimStarted(): void {
    this.epoch++;
  }

  claimEnded(): void {
    this.epoch++;
  }

  /** Holds a job in place of an older claim of it, which is returned: its lease had expired. */
  hold(held: HeldJob): HeldJob | undefined {
    const older = this.held.get(held.job.id);
    if (older !== undefined) this.leave(older);
    this.held.set(held.job.id, held);
    return older;
  }

  find(claim: ClaimRef): HeldJob | undefined {
    const held = this.held.get(claim.id);
    return held?.job.attempt === claim.attempt ? held : undefined;
  }

  findById(id: JobId): HeldJob | undefined {
    return this.held.get(id);
  }

  /** Puts a job at the end of those that wait for a slot. */
  enqueue(held: HeldJob): void {
    held.phase = 'waiting';
    this.queue.push(held);
    this.waitingCount++;
    this.payload += payloadOf(held.job);
  }

  /** Takes the job that has waited longest; it runs from now on. */
  takeWaiting(): HeldJob | undefined {
    if (this.waitingCount === 0) return undefined;
    for (;;) {
      const held = this.shift();
      if (held === undefined || held.phase !== 'waiting') continue;
      this.leaveQueue(held);
      held.phase = 'running';
      return held;
    }
  }

  /** Its end is decided: nothing else may end it. */
  markEnding(held: HeldJob): void {
    if (held.phase === 'waiting') this.leaveQueue(held);
    held.phase = 'ending';
  }

  /** It is not this node's any more. */
  leave(held: HeldJob): void {
    if (held.phase === 'waiting') this.leaveQueue(held);
    held.phase = 'gone';
    if (this.held.get(held.job.id) === held) this.held.delete(held.job.id);
  }

  /** Everything held, as a renewal lists it. */
  claims(): ClaimRef[] {
    const claims: ClaimRef[] = [];
    for (const { job } of this.held.values()) claims.push({ id: job.id, attempt: job.attempt });
    return claims;
  }

  /** What is held in a phase at this moment. */
  inPhase(phase: HeldPhase): HeldJob[] {
    return [...this.held.values()].filter((held) => held.phase === phase);
  }

  /** Takes the head of the queue by moving an index, and cuts off what lies before it now and then. */
  private shift(): HeldJob | undefined {
    const held = this.queue[this.head++];
    if (this.head === CUT_OFF_AT || this.head === this.queue.length) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
    return held;
  }

  private leaveQueue(held: HeldJob): void {
    this.waitingCount--;
    this.payload -= payloadOf(held.job);
  }
}

function payloadOf(job: ClaimedJob): number {
  return job.args.length + (job.argTypes?.length ?? 0);
}
