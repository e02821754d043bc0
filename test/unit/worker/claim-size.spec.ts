import { ClaimSize, payloadRoom } from '../../../lib/worker/claim-size';

const MEBIBYTE = 2 ** 20;
const idle = { unfinished: 0, waitingPayload: 0, unacknowledged: 0 };

function sizeAfter(ended: number, at: number, options = { maxParallelism: 20, claimBatchSize: 500 }): ClaimSize {
  const size = new ClaimSize(options);
  size.next(idle, at);
  for (let job = 0; job < ended; job++) size.jobEnded();
  return size;
}

describe('ClaimSize', () => {
  it('asks for the free slots when nothing has ended lately', () => {
    expect(new ClaimSize({ maxParallelism: 20, claimBatchSize: 500 }).next(idle, 1000)).toBe(20);
    expect(sizeAfter(0, 1000).next({ ...idle, unfinished: 17 }, 1000)).toBe(3);
    expect(sizeAfter(0, 1000).next({ ...idle, unfinished: 20 }, 1000)).toBe(0);
  });

  it('asks for as many jobs as ended during the last moments', () => {
    expect(sizeAfter(120, 1000).next(idle, 1010)).toBe(120);
  });

  it('doubles with every claim while jobs take no time, up to the limit', () => {
    const size = sizeAfter(0, 1000);
    const claims: number[] = [];

    for (let round = 0; round < 7; round++) {
      const claim = size.next(idle, 1000 + round);
      claims.push(claim);
      for (let job = 0; job < claim; job++) size.jobEnded();
    }

    expect(claims).toEqual([20, 20, 40, 80, 160, 320, 500]);
  });

  it('claims nothing ahead for jobs that take longer than those moments', () => {
    const size = new ClaimSize({ maxParallelism: 32, claimBatchSize: 500 });
    let ahead = 0;

    // 32 slots, 50 ms a job, all of them ending together: one claim for the first that ends, one for the others.
    for (let time = 1000; time < 3000; time += 50) {
      size.jobEnded();
      ahead = Math.max(ahead, size.next({ ...idle, unfinished: 31 }, time) - 1);
      for (let job = 1; job < 32; job++) size.jobEnded();
      ahead = Math.max(ahead, size.next({ ...idle, unfinished: 1 }, time + 0.5) - 31);
    }

    expect(ahead).toBe(0);
  });

  it('forgets a burst of short jobs within those moments', () => {
    const size = sizeAfter(400, 1000);
    size.next(idle, 1000);

    expect(size.next(idle, 1031)).toBe(400);
    expect(size.next(idle, 1036)).toBe(20);
  });

  it('refills what is claimed ahead when half of it is used up', () => {
    const size = sizeAfter(120, 1000);

    expect(size.next({ ...idle, unfinished: 70 }, 1001)).toBe(0);
    expect(size.hasRoom({ ...idle, unfinished: 70 })).toBe(false);
    expect(size.hasRoom({ ...idle, unfinished: 69 })).toBe(true);
    expect(size.next({ ...idle, unfinished: 69 }, 1002)).toBe(51);
  });

  it('claims no more than the batch size at once, however many slots are free', () => {
    expect(sizeAfter(0, 1000, { maxParallelism: 50, claimBatchSize: 16 }).next(idle, 1000)).toBe(16);
  });

  it('claims nothing while too many ends wait for the store', () => {
    expect(sizeAfter(500, 1000).next({ ...idle, unacknowledged: 990 }, 1001)).toBe(10);
    expect(sizeAfter(500, 1000).next({ ...idle, unacknowledged: 1000 }, 1001)).toBe(0);
  });

  it('claims nothing while 16 MiB of arguments wait to be started', () => {
    const full = { ...idle, unfinished: 1, waitingPayload: 16 * MEBIBYTE };

    expect(sizeAfter(500, 1000).next(full, 1001)).toBe(0);
    expect(payloadRoom({ ...full, waitingPayload: 10 * MEBIBYTE })).toBe(6 * MEBIBYTE);
  });
});
