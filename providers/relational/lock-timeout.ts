import { LockTimeoutError } from '../../lib/storage';

/**
 * The error for a lock that was not granted within `lockTimeout`.
 *
 * @param waits what was waited for, for example `key "capture:1"`
 * @param blocker who holds it, in words; null when that cannot be told
 */
export function lockTimeoutError(
  waits: { readonly waitsFor?: string | undefined },
  blocker: string | null,
  cause: unknown,
): LockTimeoutError {
  const what = waits.waitsFor ?? 'a row that this call needs';
  const who = blocker === null ? '' : `, held by ${blocker}`;
  return new LockTimeoutError(
    `Gave up waiting for ${what}${who}: an open transaction keeps it locked. ` +
      'Nothing was stored. End that transaction, or raise lockTimeout.',
    { cause },
  );
}
