import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { CrashModule } from './crash.module';
import { settingsOfThisProcess } from './run-settings';

async function main(): Promise<void> {
  const module = CrashModule.forRun(settingsOfThisProcess(), 'worker');
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  process.once('disconnect', () => process.exit()); // the runner is gone: nobody would end us
  process.send?.('ready');
}

void main();
