import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { IJobClient, Job } from 'nestjs-millrace';
import { OrderJournal } from './order-journal';

/** A recurring job: every node that starts upserts the same definition, and each occurrence runs on exactly one of them. */
@Injectable()
export class DailyReport implements OnApplicationBootstrap {
  static readonly RECURRING_ID = 'daily-report';
  private readonly logger = new Logger(DailyReport.name);

  constructor(
    private readonly jobs: IJobClient,
    private readonly journal: OrderJournal,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.jobs.upsertRecurring(DailyReport.RECURRING_ID, '0 3 * * *', DailyReport, (report) => report.write());
  }

  @Job()
  async write(): Promise<void> {
    const entries = await this.journal.entries();
    const orders = new Set(entries.map((entry) => entry.orderId));
    this.logger.log(`${orders.size} orders, ${entries.length} events`);
  }
}
