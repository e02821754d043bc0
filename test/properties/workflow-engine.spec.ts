import { checkEngine } from './check-engine';

describe('The workflow engine', () => {
  it('keeps its promises in random definitions, interleavings, outcomes and decisions', () => {
    const played = checkEngine({ runs: 500 });

    expect(played).toBe(500);
  });
});
