import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  // Without this Nest ignores SIGTERM: a deploy would cut jobs off instead of letting them finish.
  app.enableShutdownHooks();
  await app.listen(process.env['PORT'] ?? 3000);
  new Logger('OrderService').log(`Listening on ${await app.getUrl()}`);
}

void main();
