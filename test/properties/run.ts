import { parseArgs } from 'node:util';
import { checkEngine } from './check-engine';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10000' }, seed: { type: 'string' }, path: { type: 'string' } },
});
const played = checkEngine({
  runs: Number(values.runs),
  seed: values.seed === undefined ? undefined : Number(values.seed),
  path: values.path,
});
console.log(`${played} random runs`);
