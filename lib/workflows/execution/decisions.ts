import { InvalidDecisionError } from '../workflow.errors';
import { FinalReason, type ParkedPosition, type ParkReason } from './cursor';
import type { Move } from './move';
import { undone } from './outcomes';
import { positionText } from './position';
import { undoingOf, undoNext } from './undo';
import { failAround, failWithoutUndoing } from './unwind';
import { deliver } from './waits';
import { goOn, sagaAround } from './walk';
import type { CompensationRecovery, Decision, StepRecovery } from './workflow-event';

type Action = Decision['action'];

const ALLOWED: Readonly<Record<ParkReason, readonly Action[]>> = {
  step: ['Retry', 'Skip', 'Unwind', 'Fail'],
  resume: ['Retry', 'Fail'],
  code: ['Retry', 'Unwind', 'Fail'],
  compensation: ['Retry', 'Skip', 'Abandon'],
};

/**
 * Carries out what an operator has decided about a parked position. False when that parking is over.
 *
 * @throws {InvalidDecisionError} it does not say which position, or that position does not allow it
 */
export function decide(move: Move, decision: Decision): boolean {
  const parked = chosen(move, decision);
  if (parked === null) return false;
  const { action } = decision;
  check(move, parked, action);
  move.unpark(parked);
  if (parked.reason === 'compensation') recover(move, parked, action as CompensationRecovery);
  else resolve(move, parked, action as StepRecovery);
  return true;
}

function chosen(move: Move, { about, position, park }: Decision): ParkedPosition | null {
  const candidates = move.parked.filter(
    (parked) =>
      (parked.reason === 'compensation') === (about === 'compensation') &&
      (position === null || positionText(parked.position) === position) &&
      (park === null || parked.number === park),
  );
  const [first = null, ...others] = candidates;
  if (others.length === 0) return first;
  const list = candidates.map((parked) => positionText(parked.position)).join(', ');
  throw new InvalidDecisionError(`Several positions are parked: ${list}. Name the one that is meant: { position }.`);
}

function check(move: Move, { reason, position }: ParkedPosition, action: Action): void {
  const inSaga = sagaAround(move, position.path) !== null;
  const allowed = ALLOWED[reason].filter((name) => inSaga || name !== 'Unwind');
  if (allowed.includes(action)) return;
  throw new InvalidDecisionError(
    `Position ${positionText(position)} is parked for the reason "${reason}"${inSaga ? '' : ' outside any saga'}: ` +
      `an operator may decide ${allowed.join(', ')}, not ${action}.`,
  );
}

function resolve(move: Move, parked: ParkedPosition, action: StepRecovery): void {
  const { reason, position, payload, error } = parked;
  switch (action) {
    case 'Retry':
      // Code without a payload is a condition, a collection or correlate: its node is entered again.
      if (reason === 'resume' || payload !== undefined) deliver(move, position, payload ?? null);
      else goOn(move, position.node, position.path);
      return;
    case 'Skip':
      goOn(move, move.node(position.node).next, position.path);
      return;
    case 'Unwind':
      move.fail(position, error);
      failAround(move, position);
      return;
    case 'Fail':
      move.fail(position, error);
      failWithoutUndoing(move, FinalReason.Decided);
  }
}

function recover(move: Move, { position, error }: ParkedPosition, action: CompensationRecovery): void {
  const key = undoingOf(move, position);
  switch (action) {
    case 'Retry':
      if (key !== undefined) undoNext(move, key); // otherwise it runs when its turn comes
      return;
    case 'Skip':
      undone(move, position);
      return;
    case 'Abandon':
      move.fail(position, error);
      failWithoutUndoing(move, FinalReason.Decided);
  }
}
