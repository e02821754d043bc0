// The same application as an ES module on the newest Nest and TypeORM.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IJobClient, Job, MillraceModule } from 'nestjs-millrace';
import { MillraceDashboardModule } from 'nestjs-millrace/dashboard'; // without @nestjs/swagger
import { sqliteStorage } from 'nestjs-millrace/sqlite';

class EmailSender {
  sent = new Promise((resolve) => (this.markSent = resolve));

  async sendConfirmation(orderId) {
    this.markSent(orderId);
  }
}
Job()(
  EmailSender.prototype,
  'sendConfirmation',
  Object.getOwnPropertyDescriptor(EmailSender.prototype, 'sendConfirmation'),
);

class AppModule {}
Module({
  imports: [
    MillraceModule.forRoot({ storage: sqliteStorage({ database: 'jobs.db' }) }),
    MillraceDashboardModule.forRoot(),
  ],
  providers: [EmailSender],
})(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
const id = await app.get(IJobClient).enqueue(EmailSender, (email) => email.sendConfirmation('order-1'));
const sent = await app.get(EmailSender).sent;
await app.close(); // lets the job be written down as succeeded

const again = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
const { state } = await again.get(IJobClient).getJob(id);
await again.close();
console.log(JSON.stringify({ sent, state }));
