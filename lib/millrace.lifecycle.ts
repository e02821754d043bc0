import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { EnqueueCoalescer } from './jobs/enqueue-coalescer';
import { JobExplorer } from './jobs/job-explorer';
import { MILLRACE_STORAGE } from './millrace.module-definition';
import { closeQuietly } from './millrace.storage';
import type { Storage } from './storage/storage';
import { DefinitionRegistration } from './workflows/definition-registration';
import { WorkflowExplorer } from './workflows/workflow-explorer';

/** Finds handlers and workflows once all providers exist, and closes the store after everything that used it has stopped. */
@Injectable()
export class MillraceLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(MILLRACE_STORAGE) private readonly storage: Storage,
    @Inject(JobExplorer) private readonly jobs: JobExplorer,
    @Inject(WorkflowExplorer) private readonly workflows: WorkflowExplorer,
    @Inject(DefinitionRegistration) private readonly definitions: DefinitionRegistration,
    @Inject(EnqueueCoalescer) private readonly coalescer: EnqueueCoalescer,
  ) {}

  async onModuleInit(): Promise<void> {
    try {
      this.jobs.explore();
      this.workflows.explore();
      await this.definitions.register();
    } catch (error) {
      await closeQuietly(this.storage); // Nest calls no shutdown hook of an application that does not start
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.coalescer.idle();
    await this.storage.close();
  }
}
