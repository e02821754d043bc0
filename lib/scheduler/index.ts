import type { Provider } from '@nestjs/common';
import { RecurringFirer } from './recurring';
import { Pruner } from './retention';
import { SchedulerService } from './scheduler.service';

/** What a module provides, beside the worker's providers, to move time-driven work. */
export const schedulerProviders: Provider[] = [RecurringFirer, Pruner, SchedulerService];
