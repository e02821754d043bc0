import { parseArgs } from 'node:util';
import { checkEngine } from './check-engine';

/**
 * `npm run test:properties -- [--runs N] [--seed N] [--path P]`
 *
 * Plays random workflows with the engine and checks what it promises after every step. A failure names the seed and path that
 * repeat it.
 */
const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10000' }, seed: { type: 'string' }, path: { type: 'string' } },
});

const { runs, seed = Date.now() % 1_000_000, path } = values;
console.log(`seed ${seed} (repeat with --seed ${seed})`);
const played = checkEngine({ runs: Number(runs), seed: Number(seed), ...(path !== undefined && { path }) });
console.log(`${played} random runs`);
