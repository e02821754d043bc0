import { WorkflowNotRetryableError } from '../workflow.errors';
import type { Move } from './move';
import { parsePosition } from './position';
import { goOn } from './walk';
import type { WorkflowState } from './workflow-state';

/**
 * Begins again what had failed, and what was stopped with it: steps and delays anew, waits with a bookmark of their own
 * and their full timeout. What ended while the instance did is not run again, and what was parked is parked again.
 *
 * @throws {WorkflowNotRetryableError} it did not fail by a step outside any saga, or something was undone with it
 */
export function reopen(move: Move, { state }: WorkflowState): void {
  const { stopped } = move;
  if (state !== 'Failed' || stopped === null) throw new WorkflowNotRetryableError(state, move.final);
  move.stopped = null;
  move.failure = null;
  move.parked = stopped.parked;
  for (const text of stopped.after) {
    const { node, path } = parsePosition(text);
    goOn(move, move.node(node).next, path);
  }
  for (const text of stopped.again) {
    const { node, path } = parsePosition(text);
    goOn(move, node, path);
  }
}
