import { Activity, type ActivityContext, type IActivity } from 'nestjs-millrace';
import { OrderJournal } from '../orders/order-journal';
import type { FulfilmentData } from './fulfilment-data';

@Activity()
export class TakePayment implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data, instanceId }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'paid');
    data.paymentId = `payment-${instanceId}`; // what later steps need belongs into the document: nothing else is kept
  }
}

@Activity()
export class RefundPayment implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'refunded');
    data.paymentId = null;
  }
}
