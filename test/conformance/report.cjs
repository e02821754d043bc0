'use strict';
// Runs the conformance kit against every store and prints one line for each; the failures, if any, go to stderr.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { basename, join } = require('node:path');

const STORES = ['in-memory', 'sqlite', 'postgres', 'mssql'];

const folder = mkdtempSync(join(tmpdir(), 'millrace-conformance-'));
const output = join(folder, 'results.json');
try {
  const run = spawnSync(
    process.execPath,
    [
      require.resolve('jest/bin/jest'),
      '--selectProjects=integration',
      '--testPathPatterns=test/conformance/',
      '--json',
      `--outputFile=${output}`,
      '--silent',
      ...process.argv.slice(2),
    ],
    { cwd: join(__dirname, '../..'), stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  );
  process.exitCode = report(results(run)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** Jest's results by store; a run that wrote none has told why on stderr. */
function results(run) {
  try {
    const { testResults } = JSON.parse(readFileSync(output, 'utf8'));
    return new Map(testResults.map((result) => [basename(result.name, '.spec.ts'), result]));
  } catch (error) {
    process.stderr.write(`${run.stderr}\n${error.message}\n`);
    return new Map();
  }
}

/** Prints the lines, and answers whether all is well. */
function report(byStore) {
  const outcomes = STORES.map((store) => outcomeOf(store, byStore.get(store)));
  for (const { store, line } of outcomes) process.stdout.write(`${store}: ${line}\n`);
  for (const { failures } of outcomes) for (const failure of failures) process.stderr.write(`\n${failure}\n`);
  return outcomes.every(({ failures }) => failures.length === 0);
}

function outcomeOf(store, result) {
  if (!result) return failed(store, 0, ['The run ended without a result for this store.']);
  if (store === 'mssql' && !process.env.MILLRACE_TEST_MSSQL) return { store, line: 'skipped, no server', failures: [] };
  const facts = result.assertionResults;
  const passed = facts.filter(({ status }) => status === 'passed').length;
  const failures = facts
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => [`● ${fullName}`, ...failureMessages].join('\n'));
  // Where the server is Babelfish, the facts that it cannot hold are skipped by name.
  const skipped = store === 'mssql' ? facts.filter(({ status }) => status === 'pending') : [];
  // A file that cannot load, or fails while it cleans up, has failed although none of its facts has.
  if (result.status === 'failed' && failures.length === 0) failures.push(result.message);
  if (passed + failures.length + skipped.length < facts.length)
    failures.push(`Of ${facts.length} facts some did not run.`);
  if (failures.length > 0) return failed(store, passed, failures);
  const names = skipped.map(({ title }) => `\n  skipped: ${title}`).join('');
  return { store, line: `${passed} facts passed${names}`, failures };
}

function failed(store, passed, failures) {
  return { store, line: `${passed} passed, ${failures.length} failed`, failures };
}
