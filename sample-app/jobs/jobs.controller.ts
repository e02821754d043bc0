import { Controller, Get, HttpCode, NotFoundException, Param, Post } from '@nestjs/common';
import { IJobClient, type JobId } from 'nestjs-millrace';

@Controller('jobs')
export class JobsController {
  constructor(private readonly jobs: IJobClient) {}

  @Get(':id')
  async get(@Param('id') id: JobId) {
    const job = await this.jobs.getJob(id);
    if (!job) throw new NotFoundException(`There is no job ${id}`);
    const { handler, queue, state, attempt, failures, lastError, createdAt, dueAt, finishedAt } = job;
    return { id: job.id, state, handler, queue, attempt, failures, lastError, createdAt, dueAt, finishedAt };
  }

  /** Stops a job that has not started and asks a running one to stop. */
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(@Param('id') id: JobId): Promise<{ cancelled: boolean }> {
    return { cancelled: await this.jobs.cancel(id) };
  }
}
