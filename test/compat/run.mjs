import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { combinations, nameOf } from './combinations.mjs';
import { environmentOf, pack, tryOut } from './workspace.mjs';

/**
 * `npm run test:compat -- [--all]`
 *
 * Installs the packed package into an empty application for each supported combination, enqueues a job there and sees it run.
 * Without `--all` only on the Node that runs this: another one has to build its own SQLite driver, which takes minutes.
 */
const all = process.argv.includes('--all');
const folder = mkdtempSync(join(tmpdir(), 'millrace-compat-'));
let failed = 0;
try {
  const tarball = await pack(folder);
  for (const [index, combination] of combinations.entries()) {
    const name = nameOf(combination);
    if (combination.node !== null && !all) {
      console.log(`left out: ${name}`);
      continue;
    }
    try {
      const env = await environmentOf(combination.node, join(folder, `node-${combination.node}`));
      await tryOut(combination, join(folder, `application-${index}`), tarball, env);
      console.log(`ran: ${name}`);
    } catch (error) {
      failed++;
      console.error(`failed: ${name}\n${error.stdout ?? ''}${error.stderr ?? error.stack}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
