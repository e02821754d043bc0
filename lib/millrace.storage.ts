import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResolvedMillraceOptions } from './millrace.options';
import { MillraceError } from './model/errors';
import { failureText } from './model/failure-text';
import { type Milliseconds, SECOND } from './model/time';
import type { Storage } from './storage/storage';
import { LockTimeoutError, OutcomeUnknownError, StorageError } from './storage/storage.errors';

const FIRST_PAUSE: Milliseconds = 100;
const LONGEST_PAUSE: Milliseconds = 2 * SECOND;

/** Thrown at startup: the store could not be reached for all of `startupTimeout`. The cause is the last try's error. */
export class StorageUnavailableError extends StorageError {
  readonly code = 'MILLRACE_STORAGE_UNAVAILABLE';

  constructor(
    readonly provider: string,
    startupTimeout: Milliseconds,
    cause: unknown,
  ) {
    super(
      `The ${provider} store could not be opened within ${startupTimeout / SECOND} s: ${headline(cause)} ` +
        'Check that it runs, and its address and credentials.',
      { cause },
    );
  }
}

/**
 * Opens the store before anything of the application can enqueue. While it cannot be reached, it is tried again for
 * `startupTimeout`; an error that waiting does not cure, such as a missing driver, is thrown at once.
 *
 * @throws {StorageUnavailableError}
 */
export async function openStorage(options: ResolvedMillraceOptions): Promise<Storage> {
  const logger = new Logger('Millrace');
  const { clock, lockTimeout, startupTimeout } = options;
  const { provider } = options.storage;
  const deadline = performance.now() + startupTimeout;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const storage = options.storage.create({ clock, logger, lockTimeout });
    try {
      await within(storage.open(), deadline - performance.now());
      return storage;
    } catch (error) {
      await closeQuietly(storage);
      if (!mayPass(error)) throw error;
      if (performance.now() + pause >= deadline) throw new StorageUnavailableError(provider, startupTimeout, error);
      if (pause === FIRST_PAUSE) {
        logger.warn(
          `The ${provider} store cannot be reached; trying for ${startupTimeout / SECOND} s: ${headline(error)}`,
        );
      }
      await sleep(pause);
    }
  }
}

/** Closes a store of a start that has failed, whose own error is the one to report. */
export async function closeQuietly(storage: Storage): Promise<void> {
  try {
    await storage.close();
  } catch (error) {
    new Logger('Millrace').debug(`Closing the store failed: ${headline(error)}`);
  }
}

function mayPass(error: unknown): boolean {
  return !(error instanceof MillraceError) || error instanceof LockTimeoutError || error instanceof OutcomeUnknownError;
}

/** An attempt may hang: a firewall that drops packets answers nobody. */
async function within(attempt: Promise<void>, time: Milliseconds): Promise<void> {
  const timer = new AbortController();
  const timeout = sleep(Math.max(time, FIRST_PAUSE), undefined, { signal: timer.signal }).then(() => {
    throw new Error('opening it did not end in time.');
  });
  try {
    await Promise.race([attempt, timeout]);
  } finally {
    timer.abort();
    attempt.catch(() => undefined); // it lost the race, and may still fail
    timeout.catch(() => undefined);
  }
}

function headline(error: unknown): string {
  return failureText(error).split('\n', 1).join('');
}
