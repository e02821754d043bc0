'use strict';
const { esmPackagePattern } = require('./test/support/esm-packages.cjs');

const common = {
  rootDir: __dirname,
  testEnvironment: 'node',
  transform: { '^.+\\.[cm]?[jt]s$': '@swc/jest' },
  transformIgnorePatterns: [esmPackagePattern(__dirname)],
  // Looked up through the sandbox it makes the grammar of T-SQL three times slower.
  sandboxInjectedGlobals: ['Math'],
  // The package's own name means its sources, so tests read like a user's code and need no build.
  moduleNameMapper: {
    '^nestjs-millrace$': '<rootDir>/lib/index.ts',
    '^nestjs-millrace/(storage|testing|conformance)$': '<rootDir>/lib/$1/index.ts',
    '^nestjs-millrace/(sqlite|postgres|mssql)$': '<rootDir>/providers/$1/index.ts',
    '^nestjs-millrace/dashboard$': '<rootDir>/dashboard/index.ts',
  },
};

/** @type {import('jest').Config} */
module.exports = {
  testTimeout: 30_000, // a limit for what hangs; two busy cores may take seconds over what takes milliseconds alone
  maxWorkers: '100%', // on two cores Jest would use one, and many tests wait for a lease or a process rather than compute
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/test/{unit,crash,properties}/**/*.spec.ts'] },
    {
      ...common,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/{integration,e2e,cases,conformance}/**/*.spec.ts'],
      globalSetup: '<rootDir>/test/support/postgres.setup.ts',
      globalTeardown: '<rootDir>/test/support/postgres.teardown.ts',
    },
    // What ships, as it ships: package reads dist/ and browser the built UI, so they need `npm run build` first; so does
    // e2e, which starts the built sample.
    { ...common, displayName: 'package', testMatch: ['<rootDir>/test/package/**/*.spec.ts'], moduleNameMapper: {} },
    { ...common, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.spec.ts'] },
  ],
};
