import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MillraceModule } from 'nestjs-millrace';
import { FakeClock } from 'nestjs-millrace/storage';
import { QUICK, registrationOf } from '../../support/store-address';
import { ProgramCommands } from './commands';
import { ProgramJobs } from './program-jobs';
import type { ProgramMessage, ProgramRequest, ProgramSettings } from './protocol';

const {
  store,
  settings,
  options,
  startingAt,
  shutdownHooks = true,
} = JSON.parse(process.env['MILLRACE_PROGRAM']!) as ProgramSettings;
const clock = startingAt === undefined ? null : new FakeClock(new Date(startingAt));

@Module({
  imports: [
    MillraceModule.forRoot(QUICK, { storage: registrationOf(store, settings), ...(clock && { clock }) }, options ?? {}),
  ],
  providers: [ProgramJobs],
})
class ProgramModule {}

function send(message: ProgramMessage): void {
  process.send?.(message);
}

async function answer(commands: ProgramCommands, { id, command, args }: ProgramRequest): Promise<void> {
  try {
    const method = commands[command as keyof ProgramCommands] as (...args: unknown[]) => Promise<unknown>;
    send({ id, result: await method.apply(commands, [...args]) });
  } catch (error) {
    send({ id, error: `${String(error)} (${String((error as { code?: unknown }).code)})` });
  }
}

async function main(): Promise<void> {
  // Whatever ends other processes is told instead, so that a test can say that nothing did.
  process.on('uncaughtException', (error, origin) => send({ uncaught: `${origin}: ${error.stack}` }));
  process.once('disconnect', () => process.exit()); // the test is gone: nobody would end us
  const app = await NestFactory.createApplicationContext(ProgramModule, { logger: ['error', 'warn', 'log'] });
  if (shutdownHooks) app.enableShutdownHooks();
  const commands = new ProgramCommands(app, clock);
  process.on('message', (request: ProgramRequest) => void answer(commands, request));
  send({ ready: true });
}

void main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
