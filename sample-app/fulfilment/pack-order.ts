import { Activity, type ActivityContext, type IActivity } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { OrderJournal } from '../orders/order-journal';
import type { FulfilmentData } from './fulfilment-data';

@Activity()
export class PackOrder implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data, instanceId, signal }: ActivityContext<FulfilmentData>): Promise<void> {
    await pause(1_000, undefined, { signal }); // somebody looks for a box; ends early when the instance is cancelled
    await this.journal.record(data.orderId, 'packed');
    data.parcelNumber = `parcel-${instanceId}`;
  }
}

@Activity()
export class UnpackOrder implements IActivity<FulfilmentData> {
  constructor(private readonly journal: OrderJournal) {}

  async execute({ data }: ActivityContext<FulfilmentData>): Promise<void> {
    await this.journal.record(data.orderId, 'unpacked');
    data.parcelNumber = null;
  }
}
