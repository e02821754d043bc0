import { Inject } from '@nestjs/common';
import { Activity, type ActivityContext, type IActivity, JobContext } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { RecordFile } from '../records';
import type { Journey } from './journey';

/** What all steps do: work for a while, stumble or fail as planned, note it in the document, and write it down. */
abstract class JourneyStep implements IActivity<Journey> {
  constructor(
    @Inject(RecordFile) private readonly records: RecordFile,
    @Inject(JobContext) private readonly job: JobContext,
  ) {}

  async execute({ data, instanceId, loopPath }: ActivityContext<Journey>): Promise<void> {
    const step = this.constructor.name;
    const place = loopPath.length === 0 ? step : `${step}#${loopPath.join('.')}`;
    const record = { job: this.job.jobId, attempt: this.job.attempt, instance: instanceId, place };
    this.records.append({ kind: 'stepStarted', ...record, at: Date.now() });
    await pause(data.work);
    if (data.failsAt?.step === step && data.failsAt.iteration === (loopPath.at(-1) ?? 0)) throw new Error('As planned');
    if (data.stumbles.includes(step) && this.job.failures === 0) throw new Error('Stumbling as planned');
    data.notes[place] = (data.notes[place] ?? 0) + 1;
    this.records.append({ kind: 'stepEnded', ...record, at: Date.now() });
  }
}

@Activity()
export class Prepare extends JourneyStep {}

@Activity()
export class Detour extends JourneyStep {}

@Activity()
export class Book extends JourneyStep {}

@Activity()
export class Unbook extends JourneyStep {}

@Activity()
export class Pack extends JourneyStep {}

@Activity()
export class Unpack extends JourneyStep {}

@Activity()
export class Load extends JourneyStep {}

@Activity()
export class Unload extends JourneyStep {}

@Activity()
export class Fasten extends JourneyStep {}

@Activity()
export class Charge extends JourneyStep {}

@Activity()
export class Refund extends JourneyStep {}

@Activity()
export class Confirm extends JourneyStep {}

@Activity()
export class Revoke extends JourneyStep {}

@Activity()
export class Ship extends JourneyStep {}

@Activity()
export class Recall extends JourneyStep {}

@Activity()
export class Inform extends JourneyStep {}

@Activity()
export class Finish extends JourneyStep {}

export const journeySteps = [
  Prepare,
  Detour,
  Book,
  Unbook,
  Pack,
  Unpack,
  Load,
  Unload,
  Fasten,
  Charge,
  Refund,
  Confirm,
  Revoke,
  Ship,
  Recall,
  Inform,
  Finish,
];
