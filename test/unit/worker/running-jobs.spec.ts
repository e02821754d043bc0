import { HeldJob, RunningJobs } from '../../../lib/worker/running-jobs';
import { aClaimedJob } from './claimed-job';

function aHeldJob(fields = {}): HeldJob {
  return new HeldJob(aClaimedJob(fields), 0);
}

function wait(jobs: RunningJobs, held: HeldJob): void {
  jobs.hold(held);
  jobs.enqueue(held);
}

describe('RunningJobs', () => {
  it('hands out waiting jobs in the order in which they came, however many there were', () => {
    const jobs = new RunningJobs();
    const held = Array.from({ length: 3000 }, () => aHeldJob());
    const taken: (HeldJob | undefined)[] = [];

    wait(jobs, held[0]!);
    for (const next of held.slice(1)) {
      wait(jobs, next); // one always waits, as on a busy node
      taken.push(jobs.takeWaiting());
    }
    taken.push(jobs.takeWaiting());

    expect(taken).toEqual(held);
    expect(jobs.takeWaiting()).toBeUndefined();
    expect(jobs.waiting).toBe(0);
  });

  it('passes over what has ended while it waited', () => {
    const jobs = new RunningJobs();
    const [first, second, third] = [aHeldJob(), aHeldJob(), aHeldJob()];
    for (const held of [first, second, third]) wait(jobs, held);

    jobs.markEnding(first);
    jobs.leave(second);

    expect(jobs.waiting).toBe(1);
    expect(jobs.takeWaiting()).toBe(third);
  });

  it('counts the arguments that wait, and no others', () => {
    const jobs = new RunningJobs();
    const [first, second] = [aHeldJob({ args: '["ab"]' }), aHeldJob({ args: '[]', argTypes: '{}' })];
    for (const held of [first, second]) wait(jobs, held);

    expect(jobs.waitingPayload).toBe(10);
    jobs.takeWaiting();
    expect(jobs.waitingPayload).toBe(4);
    jobs.leave(second);
    expect(jobs.waitingPayload).toBe(0);
  });

  it('counts nothing for a job that ends without having waited', () => {
    const jobs = new RunningJobs();
    const held = aHeldJob({ args: '["ab"]' });
    jobs.hold(held);

    jobs.markEnding(held);

    expect(jobs.waiting).toBe(0);
    expect(jobs.waitingPayload).toBe(0);
  });

  it('lists everything that it holds, also what has ended and is not acknowledged', () => {
    const jobs = new RunningJobs();
    const [waiting, running, ending, gone] = [aHeldJob(), aHeldJob(), aHeldJob(), aHeldJob()];
    for (const held of [running, waiting, ending, gone]) wait(jobs, held);
    jobs.takeWaiting();
    jobs.markEnding(ending);
    jobs.leave(gone);

    expect(new Set(jobs.claims().map(({ id }) => id))).toEqual(
      new Set([waiting, running, ending].map(({ job }) => job.id)),
    );
  });

  it('holds the newest claim of a job, and keeps it when an older one leaves', () => {
    const jobs = new RunningJobs();
    const older = aHeldJob();
    const newer = aHeldJob({ id: older.job.id, attempt: 2 });
    jobs.hold(older);

    expect(jobs.hold(newer)).toBe(older);
    jobs.leave(older);

    expect(jobs.find({ id: older.job.id, attempt: 1 })).toBeUndefined();
    expect(jobs.find({ id: older.job.id, attempt: 2 })).toBe(newer);
    expect(older.undecided).toBe(false);
  });
});
