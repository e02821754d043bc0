'use strict';
// For `node --require`: a child process of a test runs the sources as the tests do, without a build.
const { transformSync } = require('@swc/core');
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');

const root = join(__dirname, '../..');

/** The package's own name means its sources, as in jest.config.cjs. */
function sourceOf(request) {
  const [, entry] = /^nestjs-millrace(?:\/(\w+))?$/.exec(request) ?? [null, null];
  if (entry === null) return request;
  if (entry === undefined) return join(root, 'lib/index.ts');
  const folder = ['sqlite', 'postgres', 'mssql'].includes(entry) ? 'providers' : 'lib';
  return join(root, folder, entry, 'index.ts');
}

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  return resolveFilename.call(this, sourceOf(request), ...rest);
};

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { filename, configFile: join(root, '.swcrc') });
  module._compile(code, filename);
};
