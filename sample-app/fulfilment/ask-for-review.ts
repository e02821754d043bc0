import { Activity, type ActivityContext, type IActivity } from 'nestjs-millrace';
import { OrderJournal } from '../orders/order-journal';
import type { FulfilmentData } from './fulfilment-data';

@Activity()
export class AskForReview implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'reviewRequested');
  }
}
