import { isTerminal, type JobId, JobState, jobStateOf } from '../../lib/storage';
import { cancelJobs, lockClosure } from './continuations';
import { type Operation, query, signalCancel } from './operation';
import type { Statement } from './statement';

export const cancelStatements = {
  lock: {
    name: 'cancel_lock',
    text: (d) => d.select({ columns: 'id, state, has_continuations', table: 'jobs', where: 'id = :id', lock: 'wait' }),
  },
  ask: {
    name: 'cancel_ask',
    text: (d) =>
      d.update({ table: 'jobs', as: 'j', set: 'cancel_requested = 1', where: 'j.id = :id', returning: ['id'] }),
  },
} satisfies Record<string, Statement>;

/** Cancels a job that has not started, with all that awaits it, or asks a running one to stop. See IJobStorage.cancel. */
export function* cancel(id: JobId, now: number): Operation<boolean> {
  const [row] = yield* query(cancelStatements.lock, { id });
  if (!row) return false;
  const state = jobStateOf(Number(row['state']));
  if (isTerminal(state)) return false;
  if (state === JobState.Processing) {
    yield* query(cancelStatements.ask, { id });
    yield* signalCancel(id);
    return true;
  }
  const awaiting = Number(row['has_continuations']) === 0 ? [] : yield* lockAwaiting(id);
  yield* cancelJobs([id, ...awaiting], now);
  return true;
}

function* lockAwaiting(id: JobId): Operation<readonly JobId[]> {
  const { closure } = yield* lockClosure([id], 'wait');
  return closure.get(id) ?? [];
}
