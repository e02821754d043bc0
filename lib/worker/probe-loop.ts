import { Inject, Injectable } from '@nestjs/common';
import type { Probe, RetentionCutoffs } from '../storage/job-storage';
import { within } from './deadline';
import { WakeLatch } from './wake-latch';
import { WorkerContext } from './worker-context';

const KEEP_EVERYTHING: RetentionCutoffs = {
  succeeded: null,
  cancelled: null,
  dead: null,
  completedInstances: null,
  failedInstances: null,
};

/**
 * Asks the store once per interval whether anything needs doing, and tells everyone on this node. It is all that an idle
 * node costs: nothing else runs unless the answer says so.
 */
@Injectable()
export class ProbeLoop {
  /** What has passed its retention by now; set by whoever prunes. */
  retention: () => RetentionCutoffs = () => KEEP_EVERYTHING;
  private readonly listeners: ((probe: Probe) => void)[] = [];
  private readonly pause = new WakeLatch();
  private running: Promise<void> | null = null;
  private stopping = false;

  constructor(@Inject(WorkerContext) private readonly context: WorkerContext) {}

  /** Calls `listener` with every answer. It must not throw, and not wait. */
  subscribe(listener: (probe: Probe) => void): void {
    this.listeners.push(listener);
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.signal();
    if (this.running !== null) await within(this.running, this.context.options.shutdownGrace);
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      await this.probe();
      await this.pause.wait(this.context.options.schedulerInterval);
    }
  }

  private async probe(): Promise<void> {
    const { storage, options, outages } = this.context;
    try {
      const probe = await storage.probe({ queues: options.queues, retention: this.retention() });
      outages.answered();
      if (!this.stopping) for (const listener of this.listeners) listener(probe);
    } catch (error) {
      outages.failed('probe', error);
    }
  }
}
