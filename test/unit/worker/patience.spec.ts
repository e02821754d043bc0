import { Patience } from '../../../lib/worker/patience';

function aPatience() {
  const time = { now: 0 };
  return { time, patience: new Patience(250, 5000, () => time.now) };
}

describe('Patience', () => {
  it('lasts until its limit, and rests after a wait that was in vain', () => {
    const { time, patience } = aPatience();
    const lasted: boolean[] = [];

    for (const now of [1000, 1100, 1249, 1250]) {
      time.now = now;
      lasted.push(patience.lasts('it'));
    }

    expect(lasted).toEqual([true, true, true, false]);
    expect(patience.rests).toBe(true);
    time.now = 6249;
    expect(patience.rests).toBe(true);
    time.now = 6250;
    expect(patience.rests).toBe(false);
    expect(patience.lasts('it')).toBe(true);
  });

  it.each([
    ['was ended', (patience: Patience) => patience.end(), 'it'],
    ['was for something else', () => undefined, 'something else'],
  ])('begins anew after a wait that %s', (_, between, next) => {
    const { time, patience } = aPatience();
    patience.lasts('it');
    time.now = 249;
    patience.lasts('it');

    between(patience);
    time.now = 400;

    expect(patience.lasts(next)).toBe(true);
    expect(patience.rests).toBe(false);
    time.now = 650;
    expect(patience.lasts(next)).toBe(false);
  });
});
