'use strict';
// An application in plain JavaScript: decorators are called by hand, as no compiler is there to do it.
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { IJobClient, Job, MillraceModule } = require('nestjs-millrace');
const { MillraceDashboardModule } = require('nestjs-millrace/dashboard'); // without @nestjs/swagger
const { sqliteStorage } = require('nestjs-millrace/sqlite');

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

async function main() {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const id = await app.get(IJobClient).enqueue(EmailSender, (email) => email.sendConfirmation('order-1'));
  const sent = await app.get(EmailSender).sent;
  await app.close(); // lets the job be written down as succeeded

  const again = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const { state } = await again.get(IJobClient).getJob(id);
  await again.close();
  console.log(JSON.stringify({ sent, state }));
}

void main();
