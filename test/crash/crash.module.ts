import { Module, type DynamicModule } from '@nestjs/common';
import { MillraceModule } from 'nestjs-millrace';
import { CrashJobs } from './crash-jobs';
import { RecordFile } from './records';
import type { RunSettings } from './run-settings';
import { registrationOf } from './store';
import { JourneyWorkflow } from './workflows/journey.workflow';
import { journeySteps } from './workflows/journey-steps';

/** The application under fire: short leases, so that a killed worker's jobs are soon free again. */
@Module({})
export class CrashModule {
  static forRun({ store, records, interruptionLimit }: RunSettings, role: 'worker' | 'producer'): DynamicModule {
    return {
      module: CrashModule,
      imports: [
        MillraceModule.forRoot({
          storage: registrationOf(store),
          maxParallelism: 10,
          leaseDuration: '2s',
          heartbeatInterval: '500ms',
          schedulerInterval: '200ms',
          interruptionLimit,
          workerEnabled: role === 'worker',
          schedulerEnabled: role === 'worker',
        }),
      ],
      providers: [
        CrashJobs,
        JourneyWorkflow,
        ...journeySteps,
        { provide: RecordFile, useValue: new RecordFile(records) },
      ],
    };
  }
}
