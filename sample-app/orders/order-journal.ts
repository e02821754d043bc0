import { Injectable } from '@nestjs/common';
import { appendFile, readFile } from 'node:fs/promises';

export type OrderEvent =
  | 'confirmed'
  | 'charged'
  | 'shipped'
  | 'reminded'
  | 'reserved'
  | 'released'
  | 'paid'
  | 'refunded'
  | 'packed'
  | 'unpacked'
  | 'reviewRequested';

interface Entry {
  readonly orderId: string;
  readonly event: OrderEvent;
  readonly at: string;
}

/**
 * What happened to the orders: one line of JSON per event, in the file ORDERS_FILE. An event is a fact, so writing it
 * twice says no more than writing it once: that makes the jobs below safe to run again.
 */
@Injectable()
export class OrderJournal {
  private readonly file = process.env['ORDERS_FILE'] ?? 'sample-orders.jsonl';

  async record(orderId: string, event: OrderEvent): Promise<void> {
    const entry: Entry = { orderId, event, at: new Date().toISOString() };
    await appendFile(this.file, `${JSON.stringify(entry)}\n`);
  }

  /** Each event of the order with the time it was first recorded. */
  async eventsOf(orderId: string): Promise<Partial<Record<OrderEvent, string>>> {
    const events: Partial<Record<OrderEvent, string>> = {};
    for (const entry of await this.entries()) {
      if (entry.orderId === orderId) events[entry.event] ??= entry.at;
    }
    return events;
  }

  async has(orderId: string, event: OrderEvent): Promise<boolean> {
    return (await this.eventsOf(orderId))[event] !== undefined;
  }

  async entries(): Promise<Entry[]> {
    const text = await readFile(this.file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
  }
}
