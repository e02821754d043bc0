import { setTimeout as pause } from 'node:timers/promises';

/** Looks until `look` does not throw (or reject) any more, and answers what it answered; after the deadline its error stands. */
export async function eventually<T>(look: () => T | Promise<T>, within = 30_000): Promise<T> {
  const deadline = performance.now() + within;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await pause(10);
  }
}
