import type { Milliseconds } from '../model/time';

/** Waits for work, but not longer than `limit`. False when it gave up; the work goes on. */
export async function within(work: Promise<unknown>, limit: Milliseconds): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, limit, false);
  });
  try {
    return await Promise.race([work.then(() => true), expired]);
  } finally {
    clearTimeout(timer);
  }
}
