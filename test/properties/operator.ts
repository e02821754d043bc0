import assert from 'node:assert/strict';
import { isInstanceTerminal } from '../../lib/model/workflow-instance';
import type { ParkedPosition } from '../../lib/workflows/execution/cursor';
import { positionText } from '../../lib/workflows/execution/position';
import type { Decision } from '../../lib/workflows/execution/workflow-event';
import { InvalidDecisionError, WorkflowNotRetryableError } from '../../lib/workflows/workflow.errors';
import type { Audit } from './audit';
import type { Choices } from './choices';
import type { ModelStore } from './model-store';
import { sagaOf } from './oracle';

const ACTIONS = {
  step: ['Retry', 'Retry', 'Retry', 'Skip', 'Skip', 'Unwind', 'Unwind', 'Unwind', 'Fail'],
  code: ['Retry', 'Retry', 'Retry', 'Retry', 'Retry', 'Unwind', 'Unwind', 'Fail'],
  resume: ['Retry', 'Retry', 'Retry', 'Retry', 'Retry', 'Fail'],
  compensation: ['Retry', 'Retry', 'Skip', 'Skip', 'Abandon'],
} as const;

/** Somebody who decides about what is parked: rightly, late, or wrongly. */
export class Operator {
  constructor(
    private readonly store: ModelStore,
    private readonly audit: Audit,
    private readonly choices: Choices,
  ) {}

  decideSomething(parked: ParkedPosition): void {
    const isInSaga = sagaOf(positionText(parked.position)) !== null;
    const actions = ACTIONS[parked.reason].filter((action) => isInSaga || action !== 'Unwind');
    this.decide(parked, this.choices.of(actions));
  }

  decide(parked: ParkedPosition, action: Decision['action']): void {
    const byNumber = this.choices.below(2) === 0;
    const decision: Decision = {
      about: aboutOf(parked),
      action,
      position: byNumber ? null : positionText(parked.position),
      park: byNumber ? parked.number : null,
    };
    assert.ok(this.store.move({ kind: 'decided', decision }), 'a decision moved nothing');
    this.audit.check();
  }

  /** Decisions that are late, ambiguous, or not to be had: none of them moves anything. */
  decideWrongly(parked: ParkedPosition): void {
    const [about, position] = [aboutOf(parked), positionText(parked.position)];
    const other = about === 'step' ? 'compensation' : 'step';
    this.isNoDecision({ about, action: 'Retry', position, park: parked.number + 100 });
    this.isNoDecision({ about: other, action: 'Retry', position, park: null });
    this.isRefused({ about, action: about === 'step' ? 'Abandon' : 'Unwind', position, park: null });
    const { parked: all } = this.store.current().cursor;
    const several = all.filter((one) => aboutOf(one) === about).length > 1;
    if (several) this.isRefused({ about, action: 'Retry', position: null, park: null });
    this.audit.check();
  }

  reopen(): void {
    const { state } = this.store;
    const reopens = () => this.store.move({ kind: 'reopened' });
    if (!isInstanceTerminal(state)) assert.equal(reopens(), false);
    else if (state === 'Failed' && this.audit.mayBeReopened) assert.ok(reopens());
    else assert.throws(reopens, WorkflowNotRetryableError);
    this.audit.check();
  }

  private isNoDecision(decision: Decision): void {
    assert.equal(this.store.move({ kind: 'decided', decision }), false);
  }

  private isRefused(decision: Decision): void {
    assert.throws(() => this.store.move({ kind: 'decided', decision }), InvalidDecisionError);
  }
}

function aboutOf({ reason }: ParkedPosition): Decision['about'] {
  return reason === 'compensation' ? 'compensation' : 'step';
}
