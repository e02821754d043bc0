import { type InstanceState, newJob, type JobDetails, type WorkflowInstance } from 'nestjs-millrace/storage';
import type { CrashRecord } from '../records';
import type { Journey } from './journey';
import { auditJourneys, type JourneyEvidence } from './journey-audit';

const NOON = new Date('2026-01-01T12:00:00.000Z');
const NO_RETRY = { kind: 'None', maxAttempts: 1, baseDelay: 0, maxDelay: 0 } as const;

interface Step {
  readonly place: string;
  readonly state?: 'Succeeded' | 'Dead';
}

/** A journey whose steps ran one after the other, each by one attempt. */
function evidenceOf(state: InstanceState, journey: Partial<Journey>, steps: readonly Step[]): JourneyEvidence {
  const succeeded = steps.filter((step) => step.state !== 'Dead');
  const document: Journey = {
    item: 0,
    work: 0,
    parcels: [0],
    detour: false,
    failsAt: null,
    stumbles: [],
    handover: 'expired',
    received: false,
    notes: Object.fromEntries(succeeded.map(({ place }) => [place, 1])),
    ...journey,
  };
  return {
    instances: [instanceIn(state, document)],
    jobs: steps.map((step, index) => jobOf(step, index)),
    records: [
      { kind: 'begun', item: 0, instance: 'journey' },
      ...steps.flatMap((step, index) => recordsOf(step, index)),
    ],
  };
}

function instanceIn(state: InstanceState, document: Journey): WorkflowInstance {
  return {
    id: 'journey',
    definitionId: 'journey',
    definitionVersion: 1,
    state,
    data: JSON.stringify(document),
    dataTypes: null,
    cursor: '{}',
    revision: 1,
    tenantId: null,
    startKey: null,
    shapeHash: '',
    suspendedReason: null,
    failure: null,
    lastDecisionId: null,
    createdAt: NOON,
    updatedAt: NOON,
    finishedAt: NOON,
  };
}

function jobOf({ place, state = 'Succeeded' }: Step, index: number): JobDetails {
  const [handler = '', iteration] = place.split('#');
  const path = iteration === undefined ? [] : [['each1', Number(iteration)]];
  const job = newJob({
    id: `job-${index}`,
    queue: 'default',
    handler,
    args: '[]',
    retry: NO_RETRY,
    createdAt: NOON,
    state,
    attempt: 1,
    failures: state === 'Dead' ? 1 : 0,
    instanceId: 'journey',
    position: JSON.stringify({ node: handler, path }),
  });
  return { ...job, attempts: [] };
}

function recordsOf({ place, state }: Step, index: number): CrashRecord[] {
  const record = { job: `job-${index}`, attempt: 1, instance: 'journey', place };
  const started: CrashRecord = { kind: 'stepStarted', ...record, at: 10 * index };
  return state === 'Dead' ? [started] : [started, { kind: 'stepEnded', ...record, at: 10 * index + 5 }];
}

const places = (text: string): Step[] => text.split(' ').map((place) => ({ place }));
const whole = places('Prepare Book Pack Load#0 Fasten#0 Charge Confirm Ship Inform Finish');
const completed = (): JourneyEvidence => evidenceOf('Completed', {}, whole);
const undone = (): JourneyEvidence =>
  evidenceOf('Compensated', { failsAt: { step: 'Confirm', iteration: 0 } }, [
    ...places('Prepare Book Pack Load#0 Fasten#0 Charge'),
    { place: 'Confirm', state: 'Dead' },
    ...places('Refund Unload#0 Unpack Unbook'),
  ]);

type Damage = (evidence: JourneyEvidence) => JourneyEvidence;

const withoutJob =
  (handler: string): Damage =>
  (evidence) => ({ ...evidence, jobs: evidence.jobs.filter((job) => job.handler !== handler) });
const changeJob =
  (handler: string, fields: Partial<JobDetails>): Damage =>
  (evidence) => ({
    ...evidence,
    jobs: evidence.jobs.map((job) => (job.handler === handler ? { ...job, ...fields } : job)),
  });
const inState =
  (state: InstanceState): Damage =>
  (evidence) => ({ ...evidence, instances: evidence.instances.map((instance) => ({ ...instance, state })) });
const noting =
  (notes: Record<string, number>): Damage =>
  (evidence) => ({
    ...evidence,
    instances: evidence.instances.map((instance) => {
      const document = JSON.parse(instance.data) as Journey;
      return { ...instance, data: JSON.stringify({ ...document, notes: { ...document.notes, ...notes } }) };
    }),
  });
const at =
  (place: string, time: number): Damage =>
  (evidence) => ({
    ...evidence,
    records: evidence.records.map((record) =>
      'place' in record && record.place === place ? { ...record, at: time } : record,
    ),
  });

describe('the audit of journeys', () => {
  it('finds nothing in one that ends well, nor in one that is undone', () => {
    expect(auditJourneys(completed())).toEqual([]);
    expect(auditJourneys(undone())).toEqual([]);
  });

  it.each<[string, () => JourneyEvidence, Damage, RegExp]>([
    ['an instance that is gone', completed, (found) => ({ ...found, instances: [] }), /the store lacks it/],
    ['a wrong end', undone, inState('Completed'), /is Completed and should be Compensated/],
    ['an end that never came', completed, inState('Running'), /is Running and should be Completed/],
    ['a step that was left out', completed, withoutJob('Ship'), /Ship has not succeeded/],
    ['a step with two jobs', completed, (found) => ({ ...found, jobs: [...found.jobs, found.jobs[3]!] }), /two jobs/],
    ['a job that has not ended', completed, changeJob('Book', { state: 'Enqueued' }), /the job of Book is Enqueued/],
    ['a step that was not undone', undone, withoutJob('Unpack'), /should have undone \[.*Unpack/],
    ['an undo before the one in front of it', undone, at('Unbook', 75), /Unload#0 was undone after Unbook/],
    ['two undos at a time', undone, at('Unload#0', 72), /began before/],
    ['an attempt that was not claimed', completed, changeJob('Pack', { attempt: 2 }), /2 claims, and 1 ends/],
    [
      'an attempt that ran twice',
      completed,
      (found) => ({ ...found, records: [...found.records, ...recordsOf({ place: 'Pack' }, 2)] }),
      /executed twice/,
    ],
    [
      'a success that never ended',
      completed,
      (found) => ({
        ...found,
        records: found.records.filter((record) => record.kind !== 'stepEnded' || record.place !== 'Ship'),
      }),
      /Ship succeeded by attempt 1, which never ended/,
    ],
    ['a note that was lost', completed, noting({ Other: 1 }), /notes \[.*Other/],
    ['a note that was made twice', completed, noting({ Pack: 2 }), /notes Pack 2 times/],
    [
      'a step behind the one that failed',
      undone,
      (found) => ({ ...found, jobs: [...found.jobs, jobOf({ place: 'Ship' }, 20)] }),
      /Ship has run/,
    ],
  ])('finds %s', (_, evidence, damage, what) => {
    const findings = auditJourneys(damage(evidence()));

    expect(findings.map((finding) => finding.what).join('\n')).toMatch(what);
  });
});
