import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IJobClient, Job, MillraceModule } from 'nestjs-millrace';
import { registrationOf, type StoreAddress } from '../../support/store-address';

// Runs one job on a store and closes the application. Nothing here ends the process: it has to end by itself.

@Injectable()
class Reports {
  private done: () => void = () => undefined;
  readonly generated = new Promise<void>((resolve) => (this.done = resolve));

  @Job()
  async generate(): Promise<void> {
    this.done();
  }
}

async function main(): Promise<void> {
  const storage = registrationOf(JSON.parse(process.env['MILLRACE_PROGRAM']!) as StoreAddress);

  @Module({ imports: [MillraceModule.forRoot({ storage })], providers: [Reports] })
  class ReportsModule {}

  const app = await NestFactory.createApplicationContext(ReportsModule, { logger: ['error', 'warn'] });
  await app.get(IJobClient).enqueue(Reports, (reports) => reports.generate());
  await app.get(Reports).generated;
  await app.close();
}

void main();
