import { Inject, Injectable } from '@nestjs/common';
import { HOUR, type Milliseconds, SECOND } from '../model/time';
import type { Probe } from '../storage/job-storage';
import { within } from './deadline';
import { packageVersion } from './package-version';
import { ProbeLoop } from './probe-loop';
import { WorkerContext } from './worker-context';

const RECORD_INTERVAL: Milliseconds = 15 * SECOND;
const CLOCK_CHECK_INTERVAL: Milliseconds = HOUR;
const CLOCK_TOLERANCE: Milliseconds = 5 * SECOND;

/** Keeps the node's row in the store fresh, and says when the node's clock and the store's differ. */
@Injectable()
export class NodeReporter {
  /** Handlers that run at this moment; set by the worker. */
  running: () => number = () => 0;
  private recordedAt = Number.NEGATIVE_INFINITY;
  private clockCheckedAt = Number.NEGATIVE_INFINITY;
  private recording: Promise<void> = Promise.resolve();

  constructor(
    @Inject(WorkerContext) private readonly context: WorkerContext,
    @Inject(ProbeLoop) probes: ProbeLoop,
  ) {
    probes.subscribe((probe) => this.report(probe));
  }

  /** Takes the node's row out of the store, where there is one: an orderly end. */
  async remove(): Promise<void> {
    if (this.recordedAt === Number.NEGATIVE_INFINITY) return;
    await within(this.removeAfterRecording(), this.context.options.shutdownGrace);
  }

  private report(probe: Probe): void {
    const now = performance.now();
    if (now - this.recordedAt >= RECORD_INTERVAL) {
      this.recordedAt = now;
      this.recording = this.record();
    }
    if (probe.databaseTime !== null && now - this.clockCheckedAt >= CLOCK_CHECK_INTERVAL) {
      this.clockCheckedAt = now;
      this.compareClocks(probe.databaseTime);
    }
  }

  private async record(): Promise<void> {
    const { storage, options, clock, outages, id, host, startedAt } = this.context;
    try {
      await storage.recordNode({
        id,
        host,
        queues: options.workerEnabled ? options.queues : [],
        maxParallelism: options.workerEnabled ? options.maxParallelism : 0,
        running: this.running(),
        version: packageVersion(),
        startedAt,
        heartbeatAt: clock.now(),
      });
    } catch (error) {
      outages.failed('recordNode', error);
    }
  }

  private async removeAfterRecording(): Promise<void> {
    await this.recording;
    try {
      await this.context.storage.removeNode(this.context.id);
    } catch (error) {
      this.context.outages.failed('removeNode', error);
    }
  }

  private compareClocks(databaseTime: Date): void {
    const difference = databaseTime.getTime() - this.context.clock.now().getTime();
    if (Math.abs(difference) <= CLOCK_TOLERANCE) return;
    const seconds = (Math.abs(difference) / SECOND).toFixed(1);
    this.context.logger.warn(
      `The database's clock is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} this node's. Due times and leases ` +
        'follow the clocks of the nodes, which should agree: check their time synchronisation.',
    );
  }
}
