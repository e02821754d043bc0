import { ATTEMPT_OUTCOMES, type JobAttempt } from '../../../lib/storage';
import type { Row } from '../operation';
import { instant, number, optionalText } from './values';

export function attemptOf(row: Row): JobAttempt {
  const outcome = ATTEMPT_OUTCOMES[number(row['outcome'])];
  if (outcome === undefined) throw new RangeError(`${String(row['outcome'])} is not the number of an attempt outcome`);
  return {
    attempt: number(row['attempt']),
    outcome,
    recordedAt: instant(row['recorded_at']),
    workerId: optionalText(row['worker_id']),
    error: optionalText(row['error']),
  };
}
