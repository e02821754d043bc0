import { BadRequestException, Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { IJobClient, JobBatch, type JobId } from 'nestjs-millrace';
import { Confirmation } from './confirmation';
import { OrderJournal, type OrderEvent } from './order-journal';
import { DailyReport } from './daily-report';
import { Payments } from './payments';
import { Reminders } from './reminders';
import { Warehouse } from './warehouse';

/** Every route answers at once with the id of a durable job; `GET /jobs/:id` tells how it is going. */
@Controller('orders')
export class OrdersController {
  constructor(
    private readonly jobs: IJobClient,
    private readonly journal: OrderJournal,
  ) {}

  @Get(':id')
  eventsOf(@Param('id') id: string): Promise<Partial<Record<OrderEvent, string>>> {
    return this.journal.eventsOf(id);
  }

  /** Fire and forget. Pressed twice, the key gives both callers the same job. */
  @Post(':id/confirm')
  @HttpCode(202)
  async confirm(@Param('id') id: string): Promise<{ jobId: JobId }> {
    const options = { idempotencyKey: `confirm:${id}` };
    return { jobId: await this.jobs.enqueue(Confirmation, (confirmation) => confirmation.confirm(id), options) };
  }

  /** Charge, and ship once that has succeeded. One transaction: no crash can leave a charge without its shipment. */
  @Post(':id/ship')
  @HttpCode(202)
  async ship(@Param('id') id: string): Promise<{ jobIds: JobId[] }> {
    const batch = new JobBatch()
      .enqueue(Payments, (payments) => payments.capture(id), { idempotencyKey: `capture:${id}`, priority: 10 })
      .continueWith(0, Warehouse, (warehouse) => warehouse.ship(id), { idempotencyKey: `ship:${id}` });
    return { jobIds: await this.jobs.enqueueBatch(batch) };
  }

  /** In a while: a row with a due time, not a timer, so that it outlives any restart. `{ "in": "2h" }` or milliseconds. */
  @Post(':id/remind')
  @HttpCode(202)
  async remind(@Param('id') id: string, @Body('in') delay: string | number = '1m'): Promise<{ jobId: JobId }> {
    return { jobId: await this.jobs.schedule(Reminders, (reminders) => reminders.send(id), delay) };
  }

  /** Many at once, all or none: `{ "orderIds": ["1", "2"] }`. */
  @Post('remind')
  @HttpCode(202)
  async remindAll(@Body('orderIds') orderIds: unknown): Promise<{ jobIds: JobId[] }> {
    if (!Array.isArray(orderIds)) throw new BadRequestException('orderIds must be a list');
    const batch = new JobBatch();
    for (const id of orderIds) batch.enqueue(Reminders, (reminders) => reminders.send(String(id)));
    return { jobIds: await this.jobs.enqueueBatch(batch) };
  }

  /** The nightly report, now; its schedule goes on undisturbed. */
  @Post('report')
  @HttpCode(202)
  async report(): Promise<{ triggered: boolean }> {
    return { triggered: await this.jobs.triggerRecurring(DailyReport.RECURRING_ID) };
  }
}
