import { WakeLatch } from '../../../lib/worker/wake-latch';

describe('WakeLatch', () => {
  it('ends a wait when it is signalled', async () => {
    const latch = new WakeLatch();

    const waiting = latch.wait();
    latch.signal();

    expect(await waiting).toBe(true);
  });

  it('keeps a signal that came while nobody waited', async () => {
    const latch = new WakeLatch();
    latch.signal();

    expect(await latch.wait()).toBe(true);
  });

  it('collapses any number of signals into one', async () => {
    const latch = new WakeLatch();
    latch.signal();
    latch.signal();

    expect(latch.take()).toBe(true);
    expect(latch.take()).toBe(false);
  });

  it('keeps a signal for the next wait that comes once the current one is woken', async () => {
    const latch = new WakeLatch();
    const waiting = latch.wait();
    latch.signal();
    await waiting;
    latch.signal();

    expect(await latch.wait(0)).toBe(true);
  });

  it('gives up after the timeout', async () => {
    expect(await new WakeLatch().wait(1)).toBe(false);
  });

  it('takes a timeout that no timer can hold', async () => {
    const latch = new WakeLatch();
    const waiting = latch.wait(2 ** 40);
    setImmediate(() => latch.signal());

    expect(await waiting).toBe(true);
  });
});
