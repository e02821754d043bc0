import { setTimeout } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ResolvedRetention } from '../millrace.options';
import { type Milliseconds, MINUTE } from '../model/time';
import type { RetentionCutoffs } from '../storage/job-storage';
import { WorkerContext } from '../worker/worker-context';

const BATCH = 500;
/** Between two batches, so that claims and enqueues find the store free. */
const PAUSE: Milliseconds = 10;

/**
 * The instants before which what has finished may go. Whole minutes: otherwise a busy store, where something passes its
 * retention at every moment, would be pruned a few rows at a time with every probe.
 */
export function retentionCutoffs(retention: ResolvedRetention, now: Date): RetentionCutoffs {
  const cutoff = (kept: Milliseconds | false): Date | null =>
    kept === false ? null : new Date(Math.floor((now.getTime() - kept) / MINUTE) * MINUTE);
  return {
    succeeded: cutoff(retention.succeeded),
    cancelled: cutoff(retention.cancelled),
    dead: cutoff(retention.dead),
    completedInstances: cutoff(retention.completedInstances),
    failedInstances: cutoff(retention.failedInstances),
  };
}

/** Deletes what has passed its retention, in small batches beside everything else. */
@Injectable()
export class Pruner {
  private stopping = false;

  constructor(@Inject(WorkerContext) private readonly context: WorkerContext) {}

  cutoffs(): RetentionCutoffs {
    return retentionCutoffs(this.context.options.retention, this.context.clock.now());
  }

  /** Prunes until nothing is left to prune, or until {@link stop}. Returns how many jobs and instances went. */
  async prune(): Promise<number> {
    const cutoffs = this.cutoffs();
    let total = 0;
    while (!this.stopping) {
      const pruned = await this.context.storage.prune(cutoffs, BATCH);
      total += pruned;
      if (pruned === 0) break;
      await setTimeout(PAUSE);
    }
    if (total > 0) this.context.logger.debug(`Pruned ${total} jobs and instances that had passed their retention.`);
    return total;
  }

  stop(): void {
    this.stopping = true;
  }
}
