import { type JobTransition, newId, newJob, type TransitionResult } from 'nestjs-millrace/storage';
import { GroupCommit } from '../../../lib/worker/group-commit';
import { released, succeeded } from '../../../lib/worker/job-outcomes';
import { OutageLog } from '../../../lib/worker/outage-log';
import { aClaimedJob } from './claimed-job';

const APPLIED: TransitionResult = { outcome: 'applied' };
const HELD: TransitionResult = { outcome: 'held' };
const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

/** A store whose calls are answered by the test, one after the other. */
class ScriptedStore {
  readonly calls: (readonly JobTransition[])[] = [];
  private readonly arrivals: (() => void)[] = [];
  private readonly answers: {
    resolve: (results: TransitionResult[]) => void;
    reject: (error: Error) => void;
    transitions: readonly JobTransition[];
  }[] = [];

  apply(transitions: readonly JobTransition[]): Promise<TransitionResult[]> {
    return new Promise((resolve, reject) => {
      this.calls.push(transitions);
      this.answers.push({ resolve, reject, transitions });
      for (const arrived of this.arrivals.splice(0)) arrived();
    });
  }

  async call(number: number): Promise<readonly JobTransition[]> {
    while (this.calls.length < number) await new Promise<void>((arrived) => this.arrivals.push(arrived));
    return this.calls[number - 1]!;
  }

  answer(number: number, result: TransitionResult = APPLIED): void {
    const { resolve, transitions } = this.answers[number - 1]!;
    resolve(transitions.map(() => result));
  }

  fail(number: number): void {
    this.answers[number - 1]!.reject(new Error('connection refused'));
  }
}

function aCommit(limit = 500) {
  const store = new ScriptedStore();
  const settled: [string, string][] = [];
  const commit = new GroupCommit<string>(store, new OutageLog(silent), limit, (owner, _transition, result) =>
    settled.push([owner, result?.outcome ?? 'given up']),
  );
  return { store, settled, commit };
}

function anEnd(): JobTransition {
  return released(aClaimedJob(), 'w1', false);
}

function aKeyedEnd(): JobTransition {
  const job = aClaimedJob();
  return succeeded(job, 'w1', [newJob({ ...job, id: newId(job.createdAt), idempotencyKey: 'key' })]);
}

describe('GroupCommit', () => {
  it('applies at once what comes while it is idle', async () => {
    const { store, settled, commit } = aCommit();

    commit.add('a', anEnd());
    await store.call(1);
    store.answer(1);
    await commit.whenIdle();

    expect(settled).toEqual([['a', 'applied']]);
  });

  it('applies together what waits while a call is under way', async () => {
    const { store, settled, commit } = aCommit();
    commit.add('a', anEnd());
    await store.call(1);
    commit.add('b', anEnd());
    commit.add('c', anEnd());

    store.answer(1);
    const second = await store.call(2);
    store.answer(2);
    await commit.whenIdle();

    expect(second).toHaveLength(2);
    expect(settled.map(([owner]) => owner)).toEqual(['a', 'b', 'c']);
  });

  it('sends no more than its limit in one call', async () => {
    const { store, commit } = aCommit(2);
    for (const owner of ['a', 'b', 'c']) commit.add(owner, anEnd());

    expect(await store.call(1)).toHaveLength(2);
    store.answer(1);
    expect(await store.call(2)).toHaveLength(1);
    store.answer(2);
    await commit.whenIdle();
  });

  it('tries again what met a held row, and holds up nobody else meanwhile', async () => {
    const { store, settled, commit } = aCommit();
    commit.add('held', anEnd());
    await store.call(1);
    store.answer(1, HELD);
    commit.add('free', anEnd());

    await store.call(2);
    store.answer(2);
    await store.call(3);
    store.answer(3, HELD);
    await store.call(4);
    store.answer(4);
    await commit.whenIdle();

    expect(settled).toEqual([
      ['free', 'applied'],
      ['held', 'applied'],
    ]);
    expect(store.calls[2]).toEqual(store.calls[0]);
    expect(store.calls[3]).toEqual(store.calls[0]);
  });

  it('applies alone what stores a job with a key, beside the call of the others', async () => {
    const { store, settled, commit } = aCommit();
    const keyed = aKeyedEnd();
    commit.add('keyed', keyed);
    commit.add('plain', anEnd());
    commit.add('plain too', anEnd());

    expect(await store.call(1)).toEqual([keyed]);
    expect(await store.call(2)).toHaveLength(2);
    store.answer(2);
    store.answer(1);
    await commit.whenIdle();

    expect(settled).toHaveLength(3);
  });

  it('uses one call at a time for what goes alone', async () => {
    const { store, commit } = aCommit();
    commit.add('first', aKeyedEnd());
    commit.add('second', aKeyedEnd());
    await store.call(1);
    commit.add('plain', anEnd());
    await store.call(2);

    expect(store.calls).toHaveLength(2);
    store.answer(1);
    store.answer(2);
    await store.call(3);
    store.answer(3);
    await commit.whenIdle();
  });

  it('sends the same call again until the store answers', async () => {
    const { store, settled, commit } = aCommit();
    commit.add('a', anEnd());
    commit.add('b', anEnd());
    const first = await store.call(1);

    store.fail(1);
    await store.call(2);
    store.fail(2);
    const third = await store.call(3);
    store.answer(3);
    await commit.whenIdle();

    expect(third).toEqual(first);
    expect(settled).toEqual([
      ['a', 'applied'],
      ['b', 'applied'],
    ]);
  });

  it('gives up what the store has not answered when it is told to', async () => {
    const { store, settled, commit } = aCommit();
    commit.add('a', anEnd());
    commit.add('keyed', aKeyedEnd());
    await store.call(2);
    store.fail(1);
    store.fail(2);

    commit.abandon();
    await commit.whenIdle();

    expect(new Map(settled)).toEqual(
      new Map([
        ['a', 'given up'],
        ['keyed', 'given up'],
      ]),
    );
  });

  it('is not idle before what was added in answer to a refusal is settled', async () => {
    const store = new ScriptedStore();
    const second = anEnd();
    const commit: GroupCommit<string> = new GroupCommit(store, new OutageLog(silent), 500, (_owner, transition) => {
      if (transition !== second) commit.add('again', second);
    });
    commit.add('a', anEnd());
    await store.call(1);
    store.answer(1, { outcome: 'rejected', error: new Error('no') });
    let idle = false;
    const waiting = commit.whenIdle().then(() => (idle = true));

    await store.call(2);
    expect(idle).toBe(false);
    store.answer(2);
    await waiting;

    expect(commit.size).toBe(0);
  });
});
