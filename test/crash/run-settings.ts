import type { StoreAddress } from './store';

/** What every process of a run is told, in the environment variable MILLRACE_CRASH_RUN. */
export interface RunSettings {
  readonly store: StoreAddress;
  readonly records: string;
  readonly plan: 'crash' | 'poison' | 'workflows';
  readonly seed: number;
  /** Jobs to enqueue, or instances to start. */
  readonly size: number;
  /** The producer spreads the plan over this time, in milliseconds. */
  readonly duration: number;
  readonly interruptionLimit: number;
}

export function settingsOfThisProcess(): RunSettings {
  const text = process.env['MILLRACE_CRASH_RUN'];
  if (!text) throw new Error('MILLRACE_CRASH_RUN is not set: this file is started by the crash test, see run.ts.');
  return JSON.parse(text) as RunSettings;
}
