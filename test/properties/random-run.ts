import assert from 'node:assert/strict';
import type { JobId } from '../../lib/model/ids';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import { positionText } from '../../lib/workflows/execution/position';
import { Audit } from './audit';
import type { Choices } from './choices';
import { type ModelBookmark, type ModelJob, ModelStore, placeOf } from './model-store';
import { Operator } from './operator';
import { compile, type Data, everyOne, initialData, type Named } from './random-graph';

/** How the execution of a job ends; `is refused` means the payload of a signal. */
type Outcome = 'succeeds' | 'dies' | 'fails' | 'is given back' | 'snoozes' | 'is refused';
const FAULTS = ['dies', 'dies', 'dies', 'fails', 'is given back', 'snoozes', 'is refused'] as const;

/** One of how many ends is a fault: never, seldom, now and then, often. */
const STORMS = [Infinity, 12, 8, 4];
const MOST_ROUNDS = 3000;

/** One instance of one random definition, driven by random choices and then to its end. */
export class RandomRun {
  private readonly broken = new Set<string>();
  private readonly store: ModelStore;
  private readonly audit: Audit;
  private readonly operator: Operator;
  private readonly faults: number;
  private readonly mayBeCancelled: boolean;
  private signals = 0;

  constructor(
    private readonly definition: readonly Named[],
    private readonly choices: Choices,
  ) {
    this.store = new ModelStore(compile(definition, this.broken), initialData(definition));
    this.audit = new Audit(definition, this.broken, this.store);
    this.store.observe = (...call) => this.audit.observe(...call);
    this.operator = new Operator(this.store, this.audit, choices);
    this.faults = choices.of(STORMS);
    this.mayBeCancelled = choices.below(8) === 1;
  }

  play(): void {
    this.breakCode();
    this.store.move({ kind: 'started' });
    this.audit.check();
    while (!this.choices.areSpent && this.goesOn()) this.act();
    this.finish();
    if (this.store.state !== 'Failed' || !this.audit.mayBeReopened) return;
    this.operator.reopen();
    this.finish();
    assert.equal(this.store.state, 'Completed');
  }

  private goesOn(): boolean {
    return !isInstanceTerminal(this.store.state) || (this.store.state === 'Failed' && this.audit.mayBeReopened);
  }

  private act(): void {
    const open = this.store.open();
    const running = open.filter(({ state }) => state === 'running');
    const pending = open.filter(({ state }) => state === 'pending');
    const { bookmarks } = this.store;
    const { parked } = this.store.current().cursor;
    const actions: (() => void)[] = [];
    const add = (weight: number, things: readonly unknown[], action: () => void) => {
      for (let times = things.length === 0 ? 0 : weight; times > 0; times--) actions.push(action);
    };
    add(8, pending, () => this.claim(this.choices.of(pending)));
    add(6, running, () => this.endSome(running));
    add(1, running, () => this.claim(this.choices.of(running))); // its process is gone: another one takes it over
    add(3, bookmarks, () => this.signal(this.choices.of(bookmarks)));
    add(2, parked, () => this.operator.decideSomething(this.choices.of(parked)));
    add(1, parked, () => this.operator.decideWrongly(this.choices.of(parked)));
    actions.push(() => this.actRarely());
    this.choices.of(actions)();
  }

  private actRarely(): void {
    switch (this.choices.below(6)) {
      case 0:
        return this.checkStale();
      case 1:
        return this.breakCode();
      case 2:
        if (this.mayBeCancelled) this.store.move({ kind: 'cancelled' });
        return this.audit.check();
      default:
        return this.operator.reopen();
    }
  }

  private breakCode(): void {
    this.broken.clear();
    if (this.faults > 8) return;
    for (const { id } of everyOne(this.definition)) if (this.choices.below(16) === 1) this.broken.add(id);
  }

  private claim(job: ModelJob): void {
    this.store.claim(job);
    if (job.closing || job.cancelRequested) this.flush([[job, 'is given back']]);
  }

  private signal(bookmark: ModelBookmark): void {
    const isExpiry = bookmark.expires && this.choices.below(2) === 1;
    const carries = !isExpiry && this.choices.below(4) > 0;
    this.store.consume(bookmark, carries ? { value: ++this.signals } : null);
    this.audit.check();
  }

  /** Several jobs end in one flush; each sees what those before it have done. */
  private endSome(running: readonly ModelJob[]): void {
    const left = [...running];
    const isUnwinding = Object.keys(this.store.current().cursor.unwinding).length > 0;
    const faults = isUnwinding ? Math.min(this.faults, 2) : this.faults; // misfortunes come together
    const ends: [ModelJob, Outcome][] = [];
    for (let count = 1 + this.choices.below(3); count > 0 && left.length > 0; count--) {
      const [job] = left.splice(this.choices.below(left.length), 1);
      const isFault = this.faults !== Infinity && this.choices.below(faults) === faults - 1;
      ends.push([job!, isFault ? this.choices.of(FAULTS) : 'succeeds']);
    }
    this.flush(ends);
  }

  private flush(ends: readonly (readonly [ModelJob, Outcome])[]): void {
    const unborn = new Set<JobId>();
    for (const [job, outcome] of ends) {
      this.end(job, outcome, unborn);
      this.audit.check();
    }
  }

  private end(job: ModelJob, outcome: Outcome, unborn: Set<JobId>): void {
    const about = { position: placeOf(job), jobId: job.id };
    const { payload, kind } = job;
    const comesBack = outcome === 'snoozes' || ((outcome === 'fails' || outcome === 'is given back') && !job.closing);
    job.state = comesBack && !job.cancelRequested ? 'pending' : 'over';
    switch (outcome) {
      case 'succeeds':
        if (kind === 'resume') this.store.move({ kind: 'resumed', ...about, payload }, unborn);
        else this.store.move({ kind: 'finished', ...about, document: this.documentOf(job) }, unborn);
        return;
      case 'is refused':
        if (kind === 'resume')
          this.store.move({ kind: 'refused', ...about, error: 'It does not fit.', payload }, unborn);
        else this.end(job, 'dies', unborn);
        return;
      case 'dies':
        this.store.move({ kind: 'failed', ...about, error: `${job.id} is dead`, payload }, unborn);
        return;
      case 'fails':
      case 'is given back':
        this.store.move({ kind: 'stopped', ...about }, unborn);
        return;
      case 'snoozes': // no end: whoever waits for it waits on
    }
  }

  private documentOf(job: ModelJob) {
    if (job.kind === 'delay') return null;
    const after = structuredClone(job.given) as Data;
    after[job.kind === 'undo' ? 'undone' : 'done'][positionText(placeOf(job))] = job.id;
    return { before: job.given, after };
  }

  /** Once nothing goes wrong any more it comes to an end, and once it has ended, nothing moves it. */
  private finish(): void {
    this.workOff();
    this.broken.clear();
    for (let rounds = 0; !isInstanceTerminal(this.store.state); rounds++) {
      assert.ok(rounds < MOST_ROUNDS, 'it does not end');
      this.takeUp();
      this.workOff();
    }
    this.checkStale();
    this.checkStillness();
  }

  private workOff(): void {
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
      const [job] = this.store.open();
      if (job === undefined) return;
      if (job.state === 'pending') this.claim(job);
      if (job.state === 'running') this.flush([[job, 'succeeds']]);
    }
    assert.fail('it runs without end');
  }

  /** An operator retries, or a signal comes. */
  private takeUp(): void {
    const [parked] = this.store.current().cursor.parked;
    const [bookmark] = this.store.bookmarks;
    if (parked !== undefined) this.operator.decide(parked, 'Retry');
    else if (bookmark !== undefined) this.signal(bookmark);
    else assert.fail('nothing is open, and it has not ended');
  }

  /** The end of jobs that nobody waits for, and of waits that are none any more. */
  private checkStale(): void {
    const { waits } = this.store.current().cursor;
    for (const { position, state, kind, id } of this.store.jobs.values()) {
      if (state !== 'over') continue;
      const about = { position: placeOf({ position }), jobId: id };
      assert.equal(this.store.move({ kind: 'stopped', ...about }), false);
      if (kind !== 'resume' || waits.includes(positionText(about.position))) continue;
      assert.equal(this.store.move({ kind: 'resumed', ...about, payload: null }), false);
      assert.equal(this.store.move({ kind: 'refused', ...about, payload: null, error: 'late' }), false);
      assert.equal(this.store.move({ kind: 'failed', ...about, payload: null, error: 'late' }), false);
    }
    this.audit.check();
  }

  private checkStillness(): void {
    for (const { position, id } of this.store.jobs.values()) {
      const about = { position: placeOf({ position }), jobId: id };
      const document = { before: {}, after: { late: true } };
      assert.equal(this.store.move({ kind: 'finished', ...about, document }), false);
      assert.equal(this.store.move({ kind: 'failed', ...about, error: 'late', payload: null }), false);
      assert.equal(this.store.move({ kind: 'resumed', ...about, payload: null }), false);
    }
    assert.equal(this.store.move({ kind: 'cancelled' }), false);
    assert.equal(this.store.move({ kind: 'started' }), false);
  }
}
