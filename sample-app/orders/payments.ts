import { Injectable } from '@nestjs/common';
import { Job, JobContext, JobCtx, Retry } from 'nestjs-millrace';
import { OrderJournal } from './order-journal';

@Injectable()
export class Payments {
  constructor(private readonly journal: OrderJournal) {}

  /** The bank is out of reach at first, as banks are: the job fails, waits a second, and succeeds on its second attempt. */
  @Job({ queue: 'payments', retry: Retry.exponential(5, '1s') })
  async capture(orderId: string, @JobCtx() ctx?: JobContext): Promise<void> {
    if (await this.journal.has(orderId, 'charged')) return;
    if (ctx?.failures === 0) throw new Error('The bank does not answer');
    await this.journal.record(orderId, 'charged'); // a real bank would be given `capture:${orderId}` as its idempotency key
  }
}
