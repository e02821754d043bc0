import assert from 'node:assert/strict';
import type { JobId } from '../../lib/model/ids';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import { positionText } from '../../lib/workflows/execution/position';
import type { ParkedPosition } from '../../lib/workflows/execution/cursor';
import type { Decision } from '../../lib/workflows/execution/workflow-event';
import { InvalidDecisionError, WorkflowNotRetryableError } from '../../lib/workflows/workflow.errors';
import { Audit } from './audit';
import type { Choices } from './choices';
import { type ModelBookmark, type ModelJob, ModelStore, placeOf } from './model-store';
import { sagaOf } from './oracle';
import { compile, type Data, everyOne, initialData, type Named } from './random-graph';

const MOST_ROUNDS = 3000;
/** One of how many ends is none that was wished for. */
const STORMS = [0, 12, 6, 3];
const OUTCOMES = ['dies', 'dies', 'dies', 'fails', 'is given back', 'snoozes', 'is refused'] as const;

/** One instance of one random definition, driven by random choices and then to its end. */
export class RandomRun {
  private readonly broken = new Set<string>();
  private readonly audit: Audit;
  private readonly store: ModelStore;
  private signals = 0;
  private mayCancel = false;

  constructor(
    private readonly definition: readonly Named[],
    private readonly choices: Choices,
  ) {
    this.audit = new Audit(definition, this.broken);
    const graph = compile(definition, this.broken);
    this.store = new ModelStore(graph, initialData(definition), (...call) => this.audit.observe(...call));
    this.audit.store = this.store;
  }

  play(): void {
    const storm = this.choices.below(4);
    this.mayCancel = this.choices.below(8) === 1;
    this.breakCode(storm);
    this.store.move({ kind: 'started' });
    this.audit.check();
    while (!this.choices.areSpent && this.goesOn()) this.act(storm);
    this.finish();
  }

  private goesOn(): boolean {
    return !isInstanceTerminal(this.store.state) || (this.store.state === 'Failed' && this.audit.mayBeReopened);
  }

  /** Once nothing goes wrong any more, it comes to an end; and once it has ended, nothing moves it. */
  private finish(): void {
    this.workOff();
    assert.equal(this.store.open().length, 0, 'a job is open, and none can be run');
    this.broken.clear();
    for (let rounds = 0; !isInstanceTerminal(this.store.state); rounds++) {
      assert.ok(rounds < MOST_ROUNDS, 'it does not end');
      this.takeUp();
      this.workOff();
    }
    this.checkStillness();
    if (this.store.state !== 'Failed' || !this.audit.mayBeReopened) return;
    this.reopen();
    this.finishReopened();
  }

  private finishReopened(): void {
    this.workOff();
    for (let rounds = 0; !isInstanceTerminal(this.store.state); rounds++) {
      assert.ok(rounds < MOST_ROUNDS, 'it does not end after it was reopened');
      this.takeUp();
      this.workOff();
    }
    this.checkStillness();
  }

  /** Operators retry and signals come, until somebody can go on. */
  private takeUp(): void {
    const { parked } = this.store.current().cursor;
    const [first] = parked;
    if (first !== undefined) return this.decide(first, 'Retry');
    const [bookmark] = this.store.bookmarks;
    assert.ok(bookmark !== undefined, 'nothing is open, and it has not ended');
    this.signal(bookmark);
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

  private act(storm: number): void {
    const open = this.store.open();
    const running = open.filter(({ state }) => state === 'running');
    const pending = open.filter(({ state }) => state === 'pending');
    const { bookmarks } = this.store;
    const { parked } = this.store.current().cursor;
    const actions: (() => void)[] = [() => this.rare(storm)];
    const add = (weight: number, things: readonly unknown[], action: () => void) => {
      for (let times = things.length === 0 ? 0 : weight; times > 0; times--) actions.push(action);
    };
    add(8, pending, () => this.claim(this.choices.of(pending)));
    add(6, running, () => this.endSome(running, storm));
    add(1, running, () => this.vanish(this.choices.of(running)));
    add(3, bookmarks, () => this.signal(this.choices.of(bookmarks)));
    add(2, parked, () => this.decideSomething(this.choices.of(parked)));
    add(1, parked, () => this.decideWrongly(this.choices.of(parked)));
    this.choices.of(actions.toReversed())();
  }

  private rare(storm: number): void {
    switch (this.choices.below(6)) {
      case 0:
        return this.breakCode(storm);
      case 1:
        if (this.mayCancel) this.store.move({ kind: 'cancelled' });
        return this.audit.check();
      case 2:
        return this.checkStale();
      default:
        return this.reopen();
    }
  }

  private claim(job: ModelJob): void {
    this.store.claim(job);
    if (job.closing || job.cancelRequested) this.flush([[job, 'is given back']]);
  }

  /** Its process is gone; another one takes it over, and does not run what is not to run any more. */
  private vanish(job: ModelJob): void {
    this.claim(job);
  }

  /** Several jobs end in one flush; each sees what those before it have done. */
  private endSome(running: readonly ModelJob[], storm: number): void {
    const left = [...running];
    const ends: [ModelJob, Outcome][] = [];
    for (let count = 1 + this.choices.below(3); count > 0 && left.length > 0; count--) {
      const [job] = left.splice(this.choices.below(left.length), 1);
      ends.push([job!, this.outcome(storm)]);
    }
    this.flush(ends);
  }

  private outcome(storm: number): Outcome {
    if (storm === 0 || this.choices.below(STORMS[storm]!) < STORMS[storm]! - 1) return 'succeeds';
    return this.choices.of(OUTCOMES);
  }

  private flush(ends: readonly (readonly [ModelJob, Outcome])[]): void {
    const unborn = new Set<JobId>();
    for (const [job, outcome] of ends) {
      if (job.state !== 'running') continue;
      this.end(job, outcome, unborn);
      this.audit.check();
    }
  }

  private end(job: ModelJob, outcome: Outcome, unborn: Set<JobId>): void {
    const about = { position: placeOf(job), jobId: job.id };
    const { payload } = job;
    const comesBack = outcome === 'snoozes' || ((outcome === 'fails' || outcome === 'is given back') && !job.closing);
    job.state = comesBack && !job.cancelRequested ? 'pending' : 'over';
    switch (outcome) {
      case 'succeeds':
        if (job.kind === 'resume') this.store.move({ kind: 'resumed', ...about, payload }, unborn);
        else this.store.move({ kind: 'finished', ...about, document: this.documentOf(job) }, unborn);
        return;
      case 'dies':
        this.store.move({ kind: 'failed', ...about, error: `${job.id} is dead`, payload }, unborn);
        return;
      case 'is refused':
        if (job.kind === 'resume') {
          this.store.move({ kind: 'refused', ...about, error: 'It does not fit.', payload }, unborn);
        } else this.store.move({ kind: 'failed', ...about, error: 'It is refused.', payload }, unborn);
        return;
      case 'fails':
      case 'is given back':
        this.store.move({ kind: 'stopped', ...about }, unborn);
        return;
      case 'snoozes':
    }
  }

  private documentOf(job: ModelJob) {
    if (job.kind === 'delay') return null;
    const at = positionText(placeOf(job));
    const after = structuredClone(job.given) as Data;
    after[job.kind === 'undo' ? 'undone' : 'done'][at] = job.id;
    return { before: job.given, after };
  }

  private signal(bookmark: ModelBookmark): void {
    const isExpiry = bookmark.expires && this.choices.below(2) === 0;
    const carries = !isExpiry && this.choices.below(4) > 0;
    this.store.consume(bookmark, carries ? { value: ++this.signals } : null);
    this.audit.check();
  }

  private breakCode(storm: number): void {
    this.broken.clear();
    if (storm < 2) return;
    for (const { id } of everyOne(this.definition)) if (this.choices.below(8) === 1) this.broken.add(id);
  }

  private decideSomething(parked: ParkedPosition): void {
    const isInSaga = sagaOf(positionText(parked.position)) !== null;
    const actions = (
      {
        step: ['Retry', 'Retry', 'Skip', 'Unwind', 'Fail'],
        code: ['Retry', 'Retry', 'Unwind', 'Fail'],
        resume: ['Retry', 'Retry', 'Fail'],
        compensation: ['Retry', 'Retry', 'Skip', 'Abandon'],
      } as const
    )[parked.reason].filter((action) => isInSaga || action !== 'Unwind');
    this.decide(parked, this.choices.of(actions));
  }

  private decide(parked: ParkedPosition, action: Decision['action']): void {
    if (this.choices.below(3) === 0) this.broken.delete(parked.position.node);
    const about = parked.reason === 'compensation' ? 'compensation' : 'step';
    const byNumber = this.choices.below(2) === 0;
    const decision: Decision = {
      about,
      action,
      position: byNumber ? null : positionText(parked.position),
      park: byNumber ? parked.number : null,
    };
    assert.ok(this.store.move({ kind: 'decided', decision }), 'a decision moved nothing');
    this.audit.check();
  }

  /** Decisions that are late, ambiguous, or not to be had: none of them moves anything. */
  private decideWrongly({ number, reason, position }: ParkedPosition): void {
    const about = reason === 'compensation' ? 'compensation' : 'step';
    const other = about === 'step' ? 'compensation' : 'step';
    const at = positionText(position);
    const isParked = (kind: string) =>
      this.store.current().cursor.parked.filter((one) => (one.reason === 'compensation') === (kind === 'compensation'));
    const late: Decision = { about, action: 'Retry', position: at, park: number + 100 };
    assert.equal(this.store.move({ kind: 'decided', decision: late }), false);
    const elsewhere: Decision = { about: other, action: 'Retry', position: at, park: null };
    assert.equal(this.store.move({ kind: 'decided', decision: elsewhere }), false);
    const wrong: Decision = { about, action: about === 'step' ? 'Abandon' : 'Unwind', position: at, park: number };
    assert.throws(() => this.store.move({ kind: 'decided', decision: wrong }), InvalidDecisionError);
    if (isParked(about).length > 1) {
      const ambiguous: Decision = { about, action: 'Retry', position: null, park: null };
      assert.throws(() => this.store.move({ kind: 'decided', decision: ambiguous }), InvalidDecisionError);
    }
    this.audit.check();
  }

  private reopen(): void {
    const { state } = this.store;
    if (!isInstanceTerminal(state)) assert.equal(this.store.move({ kind: 'reopened' }), false);
    else if (state === 'Failed' && this.audit.mayBeReopened) assert.ok(this.store.move({ kind: 'reopened' }));
    else assert.throws(() => this.store.move({ kind: 'reopened' }), WorkflowNotRetryableError);
    this.audit.check();
  }

  /** The end of jobs that nobody waits for, and of waits that are none any more. */
  private checkStale(): void {
    for (const { position, state, kind, id } of this.store.jobs.values()) {
      if (state !== 'over') continue;
      const about = { position: placeOf({ position }), jobId: id };
      assert.equal(this.store.move({ kind: 'stopped', ...about }), false);
      const isWaiting = this.store.current().cursor.waits.includes(positionText(about.position));
      if (kind !== 'resume' || isWaiting) continue;
      assert.equal(this.store.move({ kind: 'resumed', ...about, payload: null }), false);
      assert.equal(this.store.move({ kind: 'refused', ...about, payload: null, error: 'late' }), false);
      assert.equal(this.store.move({ kind: 'failed', ...about, payload: null, error: 'late' }), false);
    }
    this.audit.check();
  }

  /** Nothing moves an instance that has ended. */
  private checkStillness(): void {
    this.checkStale();
    for (const { position, id, kind } of this.store.jobs.values()) {
      const about = { position: placeOf({ position }), jobId: id };
      const document = { before: {}, after: { changed: kind } };
      assert.equal(this.store.move({ kind: 'finished', ...about, document }), false);
      assert.equal(this.store.move({ kind: 'failed', ...about, error: 'late', payload: null }), false);
      assert.equal(this.store.move({ kind: 'resumed', ...about, payload: null }), false);
    }
    assert.equal(this.store.move({ kind: 'cancelled' }), false);
    assert.equal(this.store.move({ kind: 'started' }), false);
  }
}

type Outcome = 'succeeds' | 'dies' | 'fails' | 'is given back' | 'snoozes' | 'is refused';
