import type { Provider } from '@nestjs/common';
import { JobRunner } from './job-runner';
import { NodeReporter } from './node-reporter';
import { ProbeLoop } from './probe-loop';
import { PutBacks } from './put-backs';
import { WakeLatch } from './wake-latch';
import { WorkerContext } from './worker-context';
import { WorkerService } from './worker.service';

export { ApplicationLifecycleModule } from './application-lifecycle';

/** What a module provides to run jobs; it imports {@link ApplicationLifecycleModule} beside. */
export const workerProviders: Provider[] = [
  WorkerContext,
  WakeLatch,
  ProbeLoop,
  NodeReporter,
  PutBacks,
  JobRunner,
  WorkerService,
];
