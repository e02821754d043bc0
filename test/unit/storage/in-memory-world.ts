import { FakeClock, inMemoryStorage, type InMemoryStorageOptions, type Storage } from 'nestjs-millrace/storage';
import { applied, take } from '../../../lib/conformance/steps';
import { claimBy, succeeded } from '../../../lib/conformance/builders';

export interface InMemoryWorld {
  readonly clock: FakeClock;
  readonly storage: Storage;
  readonly errors: string[];
}

const silence = (): void => undefined;

/** An open store on a clock of its own, and what it logged as an error. */
export async function inMemoryWorld(options: InMemoryStorageOptions = {}): Promise<InMemoryWorld> {
  const clock = new FakeClock();
  const errors: string[] = [];
  const logger = { error: (message: string) => void errors.push(message), warn: silence, log: silence, debug: silence };
  const storage = inMemoryStorage(options).create({ clock, logger, lockTimeout: 5000 });
  await storage.open();
  return { clock, storage, errors };
}

/** Claims all that can be claimed and lets it succeed. */
export async function runAll({ storage }: InMemoryWorld, limit = 1000): Promise<void> {
  for (;;) {
    const claimed = await take(storage.jobs, claimBy('runner', { limit }));
    if (claimed.length === 0) return;
    await applied(storage.jobs, ...claimed.map((job) => succeeded(job)));
  }
}
