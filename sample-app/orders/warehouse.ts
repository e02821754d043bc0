import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { OrderJournal } from './order-journal';

@Injectable()
export class Warehouse {
  constructor(private readonly journal: OrderJournal) {}

  @Job()
  async ship(orderId: string): Promise<void> {
    await this.journal.record(orderId, 'shipped');
  }
}
