import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Probe } from '../storage/job-storage';
import { IWorkflowStorage } from '../storage/workflow-storage';
import { ApplicationLifecycle, type LifecycleParticipant } from '../worker/application-lifecycle';
import { within } from '../worker/deadline';
import { ProbeLoop } from '../worker/probe-loop';
import { PutBacks } from '../worker/put-backs';
import { WakeLatch } from '../worker/wake-latch';
import { WorkerContext } from '../worker/worker-context';
import { IWorkflowSteps } from '../worker/workflow-steps';
import { RecurringFirer } from './recurring';
import { Pruner } from './retention';

/** What a pass has to look at. */
export type DueWork = Pick<Probe, 'due' | 'recurringDue' | 'waitsExpired'>;

const EVERYTHING: DueWork = { due: true, recurringDue: true, waitsExpired: true };

/**
 * Moves time-driven work forward: activates due jobs, fires recurring definitions, ends waits, prunes. Safe on every node
 * at once: each step is fenced by the store, and nobody is elected.
 */
@Injectable()
export class SchedulerService implements LifecycleParticipant {
  private pass: Promise<void> | null = null;
  private pruning: Promise<void> | null = null;
  private stopping = false;

  constructor(
    @Inject(WorkerContext) private readonly context: WorkerContext,
    @Inject(IWorkflowStorage) private readonly workflows: IWorkflowStorage,
    @Inject(RecurringFirer) private readonly recurring: RecurringFirer,
    @Inject(Pruner) private readonly pruner: Pruner,
    @Inject(ProbeLoop) private readonly probes: ProbeLoop,
    @Inject(PutBacks) private readonly putBacks: PutBacks,
    @Inject(WakeLatch) private readonly work: WakeLatch,
    @Inject(ApplicationLifecycle) lifecycle: ApplicationLifecycle,
    @Optional() @Inject(IWorkflowSteps) private readonly steps: IWorkflowSteps | null = null,
  ) {
    lifecycle.join(this);
  }

  start(): void {
    if (!this.context.options.schedulerEnabled) return;
    this.probes.retention = () => this.pruner.cutoffs();
    this.probes.subscribe((probe) => this.react(probe));
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.pruner.stop();
    const ended = Promise.all([this.pass, this.pruning]);
    await within(ended, this.context.options.shutdownTimeout);
  }

  /**
   * One pass over everything that time has made due; nothing is left due when it ends. Where one kind of work fails, the
   * others are done all the same, and the first error is thrown at the end.
   *
   * @returns how many jobs became claimable
   */
  async runPass(due: DueWork = EVERYTHING): Promise<number> {
    const errors: unknown[] = [];
    let claimable = 0;
    const add = async (work: () => Promise<number>): Promise<void> => {
      try {
        claimable += await work();
      } catch (error) {
        errors.push(error);
      }
    };
    if (due.due) await add(() => this.activateDue());
    if (due.recurringDue) await add(() => this.recurring.fireDue());
    if (due.waitsExpired) await add(() => this.endWaits());
    // The worker of this node need not wait until it looks by itself; others are woken by the store, or look.
    if (claimable > 0) this.work.signal();
    if (errors.length > 0) throw errors[0];
    return claimable;
  }

  private react(probe: Probe): void {
    if (this.stopping || probe.schemaTooNew) return;
    if (probe.due || probe.recurringDue || (probe.waitsExpired && this.steps !== null)) {
      this.pass ??= this.runGuarded('the scheduler', () => this.passOver(probe)).finally(() => (this.pass = null));
    }
    if (probe.prunable) {
      this.pruning ??= this.runGuarded('prune', () => this.pruner.prune()).finally(() => (this.pruning = null));
    }
  }

  private async passOver(probe: DueWork): Promise<void> {
    const { recurringDue, waitsExpired } = probe;
    const due = probe.due && !(await this.putBacks.activationWaits());
    await this.runPass({ due, recurringDue, waitsExpired });
  }

  private async runGuarded(operation: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.context.outages.failed(operation, error);
    }
  }

  private async activateDue(): Promise<number> {
    const { storage, options } = this.context;
    let total = 0;
    for (;;) {
      const activated = await storage.activateDue(options.activationBatchSize);
      total += activated;
      if (activated < options.activationBatchSize || this.stopping) return total;
    }
  }

  private async endWaits(): Promise<number> {
    const { steps } = this;
    if (steps === null) return 0;
    const limit = this.context.options.activationBatchSize;
    let total = 0;
    for (;;) {
      const ended = await this.workflows.expireBookmarks(limit, (bookmark) => steps.resumeExpired(bookmark));
      total += ended;
      if (ended < limit || this.stopping) return total;
    }
  }
}
