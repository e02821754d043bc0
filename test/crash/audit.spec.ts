import { newJob, type JobDetails, type JobFields } from 'nestjs-millrace/storage';
import { audit, type Evidence, type Fault } from './audit';
import type { CrashRecord } from './records';
import type { Ticket } from './ticket';

const NOON = new Date('2026-01-01T12:00:00.000Z');
const at = (second: number) => NOON.getTime() + second * 1_000;

const job = (id: string, ticket: Partial<Ticket> = {}, fields: Partial<JobFields> = {}): JobDetails => ({
  ...newJob({
    id,
    queue: 'default',
    handler: 'CrashJobs.run',
    args: JSON.stringify([{ item: 0, work: 0, ...ticket }]),
    retry: { kind: 'None', maxAttempts: 1, baseDelay: 0, maxDelay: 0 },
    createdAt: NOON,
    state: 'Succeeded',
    attempt: 1,
    finishedAt: new Date(at(2)),
    ...fields,
  }),
  attempts: [],
});

const ran = (id: string, { attempt = 1, from = 1, to = 2 } = {}): CrashRecord[] => [
  { kind: 'started', job: id, attempt, at: at(from) },
  { kind: 'ended', job: id, attempt, at: at(to) },
];

/** A parent with its continuation, a job with its follow-up, two holders of one key, a cancelled one. */
const orderly = (): { jobs: JobDetails[]; records: CrashRecord[] } => ({
  jobs: [
    job('parent'),
    job('child', {}, { parentId: 'parent', finishedAt: new Date(at(4)) }),
    job('fan', { followUps: 1 }),
    job('follow-up', { followUpOf: { job: 'fan', index: 0 } }),
    job('key-1', {}, { idempotencyKey: 'k' }),
    job('key-2', {}, { idempotencyKey: 'k', finishedAt: new Date(at(4)) }),
    job('off', { fate: 'cancelled' }, { state: 'Cancelled', attempt: 0 }),
    job('member', { batch: { call: 'b', size: 1 } }),
  ],
  records: [
    { kind: 'answered', item: 0, jobs: ['parent', 'child', 'fan', 'key-1', 'key-2', 'off'] },
    ...ran('parent'),
    ...ran('child', { from: 3, to: 4 }),
    ...ran('fan'),
    ...ran('follow-up'),
    ...ran('key-1'),
    ...ran('key-2', { from: 3, to: 4 }),
    ...ran('member'),
  ],
});

type Damage = (evidence: ReturnType<typeof orderly>) => Evidence;

const change =
  (id: string, fields: Partial<JobDetails>): Damage =>
  ({ jobs, records }) => ({ jobs: jobs.map((each) => (each.id === id ? { ...each, ...fields } : each)), records });
const remove =
  (id: string): Damage =>
  ({ jobs, records }) => ({ jobs: jobs.filter((each) => each.id !== id), records });
const add =
  (extra: JobDetails, ...more: CrashRecord[]): Damage =>
  ({ jobs, records }) => ({ jobs: [...jobs, extra], records: [...records, ...more] });
const record =
  (...more: CrashRecord[]): Damage =>
  ({ jobs, records }) => ({ jobs, records: [...records, ...more] });
const forget =
  (id: string, kind: CrashRecord['kind']): Damage =>
  ({ jobs, records }) => ({
    jobs,
    records: records.filter((each) => !('job' in each && each.job === id && each.kind === kind)),
  });

describe('The audit of a crash round', () => {
  it('finds nothing where both promises were kept', () => {
    expect(audit(orderly())).toEqual([]);
  });

  const damages: [string, Fault, string, Damage][] = [
    ['an answered job that the store lacks', 'lost', 'key-1', remove('key-1')],
    ['a job that still waits', 'lost', 'key-2', change('key-2', { state: 'Enqueued' })],
    ['a job that died without having failed', 'lost', 'fan', change('fan', { state: 'Dead' })],
    ['a success without an execution to its end', 'lost', 'parent', forget('parent', 'ended')],
    ['a success without its follow-up', 'lost', 'fan', remove('follow-up')],
    ['half a batch', 'lost', 'member', change('member', { args: '[{"item":0,"batch":{"call":"b","size":2}}]' })],
    [
      'a continuation that waits for a parent that has ended',
      'stranded',
      'child',
      change('child', { state: 'Awaiting' }),
    ],
    ['a cancelled continuation of a success', 'stranded', 'child', change('child', { state: 'Cancelled', attempt: 0 })],
    [
      'a continuation that ran too early',
      'stranded',
      'child',
      record({ kind: 'started', job: 'child', attempt: 0, at: at(1) }),
    ],
    ['a continuation without a parent', 'stranded', 'child', remove('parent')],
    [
      'one attempt on two workers',
      'doubled',
      'parent',
      record({ kind: 'started', job: 'parent', attempt: 1, at: at(1) }),
    ],
    ['an attempt after the success', 'doubled', 'parent', record(...ran('parent', { attempt: 2 }))],
    ['a cancelled job that ran', 'doubled', 'off', record({ kind: 'started', job: 'off', attempt: 0, at: at(1) })],
    ['a claim that ended twice', 'doubled', 'parent', change('parent', { interruptions: 1 })],
    ['a failure recorded twice', 'doubled', 'parent', change('parent', { failures: 1, attempt: 2 })],
    [
      'a failure that its history lacks',
      'doubled',
      'late',
      add(job('late', { failures: 1 }, { attempt: 2, failures: 1 }), ...ran('late', { attempt: 2 })),
    ],
    [
      'a follow-up that exists twice',
      'doubled',
      'fan',
      add(job('again', { followUpOf: { job: 'fan', index: 0 } }), ...ran('again')),
    ],
    [
      'a follow-up of no success',
      'doubled',
      'ghost',
      add(job('ghost', { followUpOf: { job: 'off', index: 0 } }), ...ran('ghost')),
    ],
    ['two holders of a key at once', 'doubled', 'key-2', change('key-1', { finishedAt: new Date(at(4)) })],
  ];

  it.each(damages)('finds %s', (_, fault, id, damage) => {
    expect(audit(damage(orderly()))).toContainEqual(expect.objectContaining({ fault, job: id }));
  });
});
