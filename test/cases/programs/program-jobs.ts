import { Inject, Injectable } from '@nestjs/common';
import { IJobClient, Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { existsSync } from 'node:fs';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';

const LONGEST_SPIN = 25_000; // milliseconds; a test that has failed must not leave a process that computes for ever
const LONGEST_WAIT_FOR_ABORT = 20_000;

/** Something that happened in the process. */
export interface ProgramEvent {
  readonly name: string;
  readonly jobId: string;
  readonly attempt: number;
  /** What the job was enqueued with. */
  readonly label: string;
}

/** Tells the test, without waiting until it has heard. */
export function report(event: ProgramEvent): void {
  process.send?.({ event });
}

/** The handlers of a child process; each tells the test that it ran. */
@Injectable()
export class ProgramJobs {
  constructor(@Inject(IJobClient) private readonly jobs: IJobClient) {}

  @Job()
  async note(label: string, @JobCtx() ctx?: JobContext): Promise<void> {
    this.tell('ran', label, ctx);
  }

  /** Takes its time, and lets the event loop go on. */
  @Job({ retry: Retry.none })
  async wait(label: string, milliseconds: number, @JobCtx() ctx?: JobContext): Promise<void> {
    this.tell('started', label, ctx);
    await pause(milliseconds);
    this.tell('ran', label, ctx);
  }

  /**
   * Its first execution blocks the event loop until a file exists; then it lets others have their turn until it is
   * aborted, or the file is gone again.
   */
  @Job({ retry: Retry.none })
  async spin(label: string, file: string, @JobCtx() ctx?: JobContext): Promise<void> {
    this.tell('started', label, ctx);
    if (ctx!.attempt > 1) return;
    await setImmediate(); // the message leaves before the loop is blocked
    for (const until = performance.now() + LONGEST_SPIN; !existsSync(file) && performance.now() < until;);
    const giveUp = performance.now() + LONGEST_WAIT_FOR_ABORT;
    while (!ctx!.signal.aborted && existsSync(file) && performance.now() < giveUp) await pause(10);
    this.tell(ctx!.signal.aborted ? 'aborted' : 'undisturbed', label, ctx);
  }

  /** Enqueues another job, as handlers do. */
  @Job()
  async follow(label: string, @JobCtx() ctx?: JobContext): Promise<void> {
    await this.jobs.enqueue(ProgramJobs, (jobs) => jobs.note(`${label}, followed`));
    this.tell('ran', label, ctx);
  }

  /** Leaves a promise behind that rejects when it has ended. */
  @Job()
  async stray(label: string, @JobCtx() ctx?: JobContext): Promise<void> {
    void pause(20).then(() => {
      throw new Error('Nobody awaits this');
    });
    this.tell('ran', label, ctx);
  }

  @Job({ retry: Retry.none })
  fail(label: string): void {
    throw label;
  }

  private tell(name: string, label: string, ctx: JobContext | undefined): void {
    report({ name, label, jobId: ctx!.jobId, attempt: ctx!.attempt });
  }
}
