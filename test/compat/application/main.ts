import 'reflect-metadata';
import { Controller, Get, Injectable, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IJobClient, Job, JobContext, JobCtx, MillraceModule } from 'nestjs-millrace';
import { adapter } from './adapter.js';
import { storage } from './storage.js';

// An application as a newcomer writes it: it enqueues a job over HTTP and waits until the job has run.

@Injectable()
class Mailer {
  readonly sent: string[] = [];

  @Job()
  async send(to: string, at: Date, @JobCtx() ctx?: JobContext): Promise<void> {
    this.sent.push(`${to} ${at.toISOString()} attempt ${ctx?.attempt}`);
  }
}

@Controller('mails')
class MailsController {
  constructor(private readonly jobs: IJobClient) {}

  @Post(':to')
  async send(@Param('to') to: string): Promise<{ jobId: string }> {
    return { jobId: await this.jobs.enqueue(Mailer, (mailer) => mailer.send(to, new Date(0))) };
  }

  @Get(':id')
  async state(@Param('id') id: string): Promise<{ state: string }> {
    return { state: (await this.jobs.getJob(id))?.state ?? 'unknown' };
  }
}

@Module({
  imports: [MillraceModule.forRoot({ storage })],
  controllers: [MailsController],
  providers: [Mailer],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, adapter(), { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  const { jobId } = (await (await fetch(`${url}/mails/ada`, { method: 'POST' })).json()) as { jobId: string };
  const deadline = Date.now() + 30_000;
  for (let state = ''; state !== 'Succeeded';) {
    ({ state } = (await (await fetch(`${url}/mails/${jobId}`)).json()) as { state: string });
    if (Date.now() > deadline) throw new Error(`The job is still ${state}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const sent = app.get(Mailer).sent.join();
  if (sent !== 'ada 1970-01-01T00:00:00.000Z attempt 1') throw new Error(`The job was given something else: ${sent}`);
  await app.close();
  console.log('ran');
}

void main();
