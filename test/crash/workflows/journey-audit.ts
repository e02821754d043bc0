import type { JobDetails, WorkflowInstance } from 'nestjs-millrace/storage';
import { groupBy } from '../group-by';
import type { CrashRecord } from '../records';
import type { Journey } from './journey';

/** The store at the end, and what the processes wrote down while they lived. */
export interface JourneyEvidence {
  readonly instances: readonly WorkflowInstance[];
  readonly jobs: readonly JobDetails[];
  readonly records: readonly CrashRecord[];
}

export interface JourneyFinding {
  readonly instance: string;
  readonly what: string;
}

interface StepJob {
  readonly job: JobDetails;
  /** The step and the iteration that it stands for: `Load#2`. */
  readonly place: string;
}

type StepRecord = Extract<CrashRecord, { kind: 'stepStarted' | 'stepEnded' }>;

const UNDONE_BY: Readonly<Record<string, string>> = {
  Book: 'Unbook',
  Pack: 'Unpack',
  Load: 'Unload',
  Charge: 'Refund',
  Confirm: 'Revoke',
  Ship: 'Recall',
};
/** Steps of the saga in the order that sequences impose; those of one stage run concurrently. */
const STAGES: readonly (readonly string[])[] = [
  ['Book'],
  ['Pack', 'Load', 'Fasten'],
  ['Charge'],
  ['Confirm'],
  ['Ship'],
  ['Inform'],
];
const UNDO_STAGES = STAGES.map((stage) => stage.map((step) => UNDONE_BY[step] ?? ''));

/** Compares every journey with its plan, its steps' own records and its document. No finding means that all went right. */
export function auditJourneys({ instances, jobs, records }: JourneyEvidence): JourneyFinding[] {
  const findings: JourneyFinding[] = [];
  const known = new Set(instances.map(({ id }) => id));
  for (const record of records) {
    if (record.kind !== 'begun' || known.has(record.instance)) continue;
    findings.push({ instance: record.instance, what: 'was started, and the store lacks it' });
  }
  const stepJobs = groupBy(jobs, ({ instanceId }) => instanceId);
  const stepRecords = groupBy(records.filter(isStepRecord), ({ instance }) => instance);
  for (const instance of instances) {
    const journey = JSON.parse(instance.data) as Journey;
    const audit = new JourneyAudit(
      instance,
      journey,
      stepsOf(stepJobs.get(instance.id) ?? []),
      stepRecords.get(instance.id) ?? [],
    );
    for (const what of audit.findings()) findings.push({ instance: instance.id, what });
  }
  return findings;
}

class JourneyAudit {
  private readonly succeeded: ReadonlySet<string>;
  private readonly found: string[] = [];

  constructor(
    private readonly instance: WorkflowInstance,
    private readonly journey: Journey,
    private readonly steps: readonly StepJob[],
    private readonly records: readonly StepRecord[],
  ) {
    this.succeeded = new Set(steps.filter(({ job }) => job.state === 'Succeeded').map(({ place }) => place));
  }

  findings(): readonly string[] {
    this.checkState();
    this.checkSteps();
    this.checkUndone();
    this.checkExecutions();
    this.checkDocument();
    return this.found;
  }

  private expect(condition: boolean, what: string): void {
    if (!condition) this.found.push(what);
  }

  private get undone(): readonly string[] {
    return [...this.succeeded].map((place) => undoOf(place)).filter((place) => place !== null);
  }

  private checkState(): void {
    const { failsAt } = this.journey;
    const expected = failsAt === null ? 'Completed' : this.undone.length > 0 ? 'Compensated' : 'Failed';
    this.expect(this.instance.state === expected, `is ${this.instance.state} and should be ${expected}`);
  }

  private checkSteps(): void {
    const places = this.steps.map(({ place }) => place);
    this.expect(new Set(places).size === places.length, `has two jobs for one step: ${places.join(' ')}`);
    const failing = this.failingPlace();
    for (const place of this.mustSucceed()) this.expect(this.succeeded.has(place), `${place} has not succeeded`);
    for (const place of this.mustNotRun()) this.expect(!places.includes(place), `${place} has run`);
    if (failing !== null) this.expect(places.includes(failing), `${failing} should have failed, and has not run`);
    for (const { job, place } of this.steps) {
      const ended = ['Succeeded', 'Dead', 'Cancelled'].includes(job.state);
      this.expect(ended, `the job of ${place} is ${job.state}`);
    }
  }

  /** Every completed step of the saga is undone once, and nothing else; one after the other, the last first. */
  private checkUndone(): void {
    const undos = this.steps.filter(({ place }) => stageOf(place, UNDO_STAGES) >= 0);
    const expected = this.journey.failsAt === null ? [] : this.undone;
    const got = undos.filter(({ job }) => job.state === 'Succeeded').map(({ place }) => place);
    this.expect(
      [...expected].toSorted().join() === got.toSorted().join(),
      `has undone [${got.join(', ')}] and should have undone [${expected.join(', ')}]`,
    );
    const inOrder = undos.map(({ place }) => ({ place, ...this.spanOf(place) })).toSorted((a, b) => a.from - b.from);
    for (const [at, undo] of inOrder.entries()) {
      const next = inOrder[at + 1];
      if (next === undefined) continue;
      this.expect(next.from >= undo.to, `${next.place} began before ${undo.place} had ended`);
      const backwards = stageOf(next.place, UNDO_STAGES) <= stageOf(undo.place, UNDO_STAGES);
      this.expect(backwards, `${next.place} was undone after ${undo.place}`);
    }
  }

  /** Each claim has ended in one way, each attempt was executed once, and what succeeded ran to its end. */
  private checkExecutions(): void {
    for (const { job, place } of this.steps) {
      const { attempt, failures, interruptions, releases, state } = job;
      const started = this.records.filter((record) => record.kind === 'stepStarted' && record.place === place);
      const attempts = started.map((record) => record.attempt);
      this.expect(new Set(attempts).size === attempts.length, `an attempt at ${place} was executed twice`);
      const ended = this.records.some(
        (record) => record.kind === 'stepEnded' && record.place === place && record.attempt === attempt,
      );
      if (state === 'Succeeded') this.expect(ended, `${place} succeeded by attempt ${attempt}, which never ended`);
      if (state === 'Cancelled') continue;
      const counted = failures + interruptions + releases + (state === 'Succeeded' ? 1 : 0);
      this.expect(attempt === counted, `${place} has ${attempt} claims, and ${counted} ends of them`);
    }
  }

  private checkDocument(): void {
    const { notes, received, handover } = this.journey;
    const noted = Object.keys(notes).toSorted().join(' ');
    const succeeded = [...this.succeeded].toSorted().join(' ');
    this.expect(noted === succeeded, `notes [${noted}], while [${succeeded}] have succeeded`);
    for (const [place, times] of Object.entries(notes)) this.expect(times === 1, `notes ${place} ${times} times`);
    const waited = this.succeeded.has('Inform') || this.failingPlace() === 'Inform';
    this.expect(received === (waited && handover === 'signalled'), `has received ${received}, ${handover}`);
  }

  private failingPlace(): string | null {
    const { failsAt } = this.journey;
    if (failsAt === null) return null;
    return isLooped(failsAt.step) ? `${failsAt.step}#${failsAt.iteration}` : failsAt.step;
  }

  /** Steps that no failure keeps from succeeding: those before the failing one. */
  private mustSucceed(): string[] {
    const { failsAt, detour } = this.journey;
    const last = failsAt === null ? STAGES.length : stageOf(failsAt.step, STAGES);
    const before = STAGES.slice(0, last).flatMap((stage) => this.placesOf(stage));
    if (failsAt?.step === 'Fasten') before.push(`Load#${failsAt.iteration}`);
    return ['Prepare', ...(detour ? ['Detour'] : []), ...before, ...(failsAt === null ? ['Finish'] : [])];
  }

  private mustNotRun(): string[] {
    const { failsAt, detour } = this.journey;
    const after = failsAt === null ? [] : STAGES.slice(stageOf(failsAt.step, STAGES) + 1);
    const places = after.flatMap((stage) => this.placesOf(stage));
    if (failsAt?.step === 'Load') places.push(`Fasten#${failsAt.iteration}`);
    return [...places, ...(failsAt === null ? [] : ['Finish']), ...(detour ? [] : ['Detour'])];
  }

  private placesOf(stage: readonly string[]): string[] {
    return stage.flatMap((step) =>
      isLooped(step) ? this.journey.parcels.map((parcel) => `${step}#${parcel}`) : [step],
    );
  }

  private spanOf(place: string): { readonly from: number; readonly to: number } {
    const times = this.records.filter((record) => record.place === place).map(({ at }) => at);
    return { from: Math.min(...times), to: Math.max(...times) };
  }
}

function isStepRecord(record: CrashRecord): record is StepRecord {
  return record.kind === 'stepStarted' || record.kind === 'stepEnded';
}

/** Jobs of activities; delays and deliveries stand for no step. */
function stepsOf(jobs: readonly JobDetails[]): StepJob[] {
  return jobs.filter(({ handler }) => !handler.startsWith('millrace.')).map((job) => ({ job, place: placeOf(job) }));
}

function placeOf({ handler, position }: JobDetails): string {
  const { path } = JSON.parse(position!) as { path: readonly (readonly [string, number])[] };
  const iterations = path.filter(([node]) => node.startsWith('each')).map(([, iteration]) => iteration);
  return iterations.length === 0 ? handler : `${handler}#${iterations.join('.')}`;
}

function undoOf(place: string): string | null {
  const [step = '', iteration] = place.split('#');
  const undo = UNDONE_BY[step];
  if (undo === undefined) return null;
  return iteration === undefined ? undo : `${undo}#${iteration}`;
}

function stageOf(place: string, stages: readonly (readonly string[])[]): number {
  const [step = ''] = place.split('#');
  return stages.findIndex((stage) => stage.includes(step));
}

function isLooped(step: string): boolean {
  return step === 'Load' || step === 'Fasten';
}
