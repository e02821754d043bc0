'use strict';
// The import directions of ARCHITECTURE.md, one rule a line: in files of `from`, an import of `to` is an error unless it is
// of `unless`. The reason is printed with a violation.
const DATABASE = '(^|node_modules/)(typeorm|better-sqlite3|sqlite3|pg|mssql)(/|$)';

const forbid = (name, from, to, unless, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: to, ...(unless && { pathNot: unless }) },
});

// prettier-ignore
const directions = [
  forbid('model-is-pure', '^lib/model/', '.', '^lib/model/|(^|/)(cron-parser|ms)(/|$)|^(node:)?(crypto|util)$', 'Records and rules have no reason to know Nest.'),
  forbid('storage-knows-model', '^lib/storage/', '^lib/', '^lib/(storage|model)/', 'A provider author reads storage and model, nothing else.'),
  forbid('jobs-below-workers', '^lib/jobs/', '^lib/', '^lib/(jobs|storage|model|tenancy|telemetry)/|^lib/millrace\\.', 'workflows → jobs → storage → model, never back.'),
  forbid('workers-below-workflows', '^lib/(worker|scheduler)/', '^lib/workflows/', null, 'Workflows plug into ports that workers declare.'),
  forbid('execution-is-pure', '^lib/workflows/execution/', '.', '^lib/(model|workflows/(graph|execution))/|^lib/workflows/workflow\\.errors|^(node:)?util$', 'No Nest, no storage, no clock: tested without any.'),
  forbid('core-stands-alone', '^lib/', '^(providers|dashboard|sample-app)/', null, 'Imports point down, and the core is below all of these.'),
  forbid('core-without-kits', '^lib/(?!testing/|conformance/)', '^lib/(testing|conformance)/', null, 'Test kits are entry points of their own.'),
  forbid('conformance-is-portable', '^lib/conformance/', '.', '^lib/(conformance|storage|model)/|^(node:)?assert', 'The contract runs in any test runner.'),
  forbid('database-in-providers-only', '^(lib|dashboard|sample-app)/', DATABASE, null, 'Installing the core must install no database.'),
  forbid('providers-see-the-boundary', '^providers/', '^(lib|dashboard)/', '^lib/(storage|model)/', 'A provider implements the contract and knows no engine.'),
  forbid('dialects-are-siblings', '^providers/(sqlite|postgres|mssql)/', '^providers/(sqlite|postgres|mssql)/', '^providers/$1/', 'A dialect never leans on another one.'),
  forbid('relational-names-no-dialect', '^providers/relational/', '^providers/(sqlite|postgres|mssql)/', null, 'A difference is a member of Dialect.'),
  forbid('dashboard-is-a-client', '^dashboard/', '^(lib|providers)/', '^lib/index\\.ts$', 'It can do what any user of the public API can, no more.'),
  forbid('ui-knows-the-wire', '^dashboard/ui/', '^(lib|providers|dashboard)/', '^dashboard/ui/', 'The UI talks REST and shares no code with the server.'),
  forbid('sample-is-a-user', '^sample-app/', '^(lib|providers|dashboard)/', null, 'It imports entry points by package name, as a user does.'),
];

module.exports = {
  forbidden: [
    ...directions,
    {
      name: 'no-cycle',
      comment: 'Neither file can be understood alone.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      comment:
        'A misspelt import fails here. sqlite3 is an optional peer for TypeORM 0.3, which is not installed beside 1.x.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^sqlite3$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|^dist/' },
    exclude: { path: '^dist-sample/|public-built' },
    tsPreCompilationDeps: true, // `import type` counts: a type is knowledge too
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'require', 'node', 'import', 'default'],
    },
  },
};
