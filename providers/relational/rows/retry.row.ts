import { RETRY_KINDS, type RetryPolicy } from '../../../lib/storage';
import type { Row } from '../operation';
import { number } from './values';

export function retryOf(row: Row): RetryPolicy {
  const kind = RETRY_KINDS[number(row['retry_kind'])];
  if (kind === undefined) throw new RangeError(`${String(row['retry_kind'])} is not the number of a retry kind`);
  return {
    kind,
    maxAttempts: number(row['retry_max_attempts']),
    baseDelay: number(row['retry_base_delay']),
    maxDelay: number(row['retry_max_delay']),
  };
}
