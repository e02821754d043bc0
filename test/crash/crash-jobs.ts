import { Inject, Injectable } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { RecordFile } from './records';
import type { Ticket } from './ticket';

/** The one handler: it does what its ticket says, and writes down that it did. */
@Injectable()
export class CrashJobs {
  constructor(@Inject(RecordFile) private readonly records: RecordFile) {}

  @Job({ retry: Retry.fixed('200ms', 4) })
  async run(ticket: Ticket, @JobCtx() ctx?: JobContext): Promise<void> {
    if (!ctx) throw new Error('run() was called outside of a job');
    const { jobId, attempt, failures } = ctx;
    this.records.append({ kind: 'started', job: jobId, attempt, at: Date.now() });
    if (ticket.fate === 'kills') process.kill(process.pid, 'SIGKILL');
    await pause(ticket.work);
    if (ticket.fate === 'dies' || failures < (ticket.failures ?? 0)) throw new Error('Failing as planned');
    for (let index = 0; index < (ticket.followUps ?? 0); index++) {
      const followUp: Ticket = { item: ticket.item, work: ticket.work, followUpOf: { job: jobId, index } };
      ctx.enqueueOnSuccess(CrashJobs, (jobs) => jobs.run(followUp));
    }
    this.records.append({ kind: 'ended', job: jobId, attempt, at: Date.now() });
  }
}
