import { Injectable, Logger } from '@nestjs/common';
import { Job, JobContext, JobCtx } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { OrderJournal } from './order-journal';

@Injectable()
export class Confirmation {
  private readonly logger = new Logger(Confirmation.name);

  constructor(private readonly journal: OrderJournal) {}

  /** Runs in the worker. Kill the process while it pauses, start it again, and watch it come back as attempt 2. */
  @Job()
  async confirm(orderId: string, @JobCtx() ctx?: JobContext): Promise<void> {
    if (await this.journal.has(orderId, 'confirmed')) return; // an earlier attempt got this far before it was cut off
    this.logger.log(`Confirming order ${orderId}, attempt ${ctx?.attempt}`);
    await pause(2_000, undefined, { signal: ctx?.signal }); // asking the stock system; ends early when the job is cancelled
    await this.journal.record(orderId, 'confirmed');
  }
}
