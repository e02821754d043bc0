import { checkEngine } from './check-engine';

const RUNS = 500; // `npm run test:properties` plays twenty times as many

describe('the workflow engine', () => {
  it(`keeps its promises in ${RUNS} random runs`, () => {
    expect(checkEngine({ runs: RUNS })).toBe(RUNS);
  }, 120_000);
});
