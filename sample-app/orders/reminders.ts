import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { OrderJournal } from './order-journal';

@Injectable()
export class Reminders {
  constructor(private readonly journal: OrderJournal) {}

  @Job({ queue: 'mail' })
  async send(orderId: string): Promise<void> {
    await this.journal.record(orderId, 'reminded');
  }
}
