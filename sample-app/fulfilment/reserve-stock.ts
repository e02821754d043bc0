import { Activity, type ActivityContext, type IActivity } from 'nestjs-millrace';
import { OrderJournal } from '../orders/order-journal';
import type { FulfilmentData } from './fulfilment-data';

@Activity()
export class ReserveStock implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'reserved');
  }
}

@Activity()
export class ReleaseStock implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'released');
  }
}
