import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { MillraceModule } from 'nestjs-millrace';
import { BadRequestFilter } from './bad-request.filter';
import { AskForReview } from './fulfilment/ask-for-review';
import { CheckApproval } from './fulfilment/check-approval';
import { FulfilmentController } from './fulfilment/fulfilment.controller';
import { FulfilmentWorkflow } from './fulfilment/fulfilment.workflow';
import { PackOrder, UnpackOrder } from './fulfilment/pack-order';
import { ReleaseStock, ReserveStock } from './fulfilment/reserve-stock';
import { RefundPayment, TakePayment } from './fulfilment/take-payment';
import { JobsController } from './jobs/jobs.controller';
import { Confirmation } from './orders/confirmation';
import { DailyReport } from './orders/daily-report';
import { OrderJournal } from './orders/order-journal';
import { OrdersController } from './orders/orders.controller';
import { Payments } from './orders/payments';
import { Reminders } from './orders/reminders';
import { Warehouse } from './orders/warehouse';
import { storageOf } from './storage';

@Module({
  imports: [
    MillraceModule.forRoot({
      storage: storageOf(process.env),
      queues: ['default', 'payments', 'mail'],
      // If this process dies, its jobs are free again 10 seconds later. The heartbeat extends the lease of those that run on.
      leaseDuration: '10s',
      heartbeatInterval: '3s',
    }),
  ],
  controllers: [OrdersController, FulfilmentController, JobsController],
  providers: [
    OrderJournal,
    { provide: APP_FILTER, useClass: BadRequestFilter },
    // A provider with a @Job method is all that a job needs: it is found, not listed anywhere else.
    Confirmation,
    Payments,
    Warehouse,
    Reminders,
    DailyReport,
    // A workflow and its activities, too, are only provided.
    FulfilmentWorkflow,
    ReserveStock,
    ReleaseStock,
    TakePayment,
    RefundPayment,
    PackOrder,
    UnpackOrder,
    CheckApproval,
    AskForReview,
  ],
})
export class AppModule {}
