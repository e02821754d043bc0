import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IJobClient, Job, MillraceModule } from 'nestjs-millrace';
import { QUICK, registrationOf, type StoreAddress } from '../../support/store-address';

// Starts an application on each store that it is told of, runs a job there and closes it. Says "started" or the error.

@Injectable()
class Greetings {
  @Job()
  async send(): Promise<void> {}
}

async function start(store: StoreAddress): Promise<string> {
  @Module({
    imports: [MillraceModule.forRoot(QUICK, { storage: registrationOf(store, { poolSize: 1 }) })],
    providers: [Greetings],
  })
  class GreetingsModule {}

  const app = await NestFactory.createApplicationContext(GreetingsModule, { logger: false, abortOnError: false });
  const jobs = app.get(IJobClient);
  const id = await jobs.enqueue(Greetings, (greetings) => greetings.send());
  while ((await jobs.getJob(id))?.state !== 'Succeeded') await new Promise((resolve) => setTimeout(resolve, 10));
  await app.close();
  return 'started';
}

process.on('message', (store: StoreAddress) => {
  void start(store)
    .catch((error: unknown) => String(error))
    .then((outcome) => process.send?.(outcome));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
