import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dependenciesOf } from './combinations.mjs';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');

const STORAGE = {
  memory: `import { inMemoryStorage } from 'nestjs-millrace';\nexport const storage = inMemoryStorage();\n`,
  sqlite:
    `import { sqliteStorage } from 'nestjs-millrace/sqlite';\n` +
    `export const storage = sqliteStorage({ database: 'jobs.db' });\n`,
};
const ADAPTER = {
  express:
    `import { ExpressAdapter } from '@nestjs/platform-express';\n` +
    `export const adapter = () => new ExpressAdapter();\n`,
  fastify:
    `import { FastifyAdapter } from '@nestjs/platform-fastify';\n` +
    `export const adapter = () => new FastifyAdapter();\n`,
};

/**
 * Makes the application of a combination in an empty folder, installs the packed package there, compiles it with all checks
 * on, and runs it.
 *
 * @param {import('./combinations.mjs').Combination} combination
 * @param {string} folder
 * @param {string} tarball
 * @param {NodeJS.ProcessEnv} env of the Node that it is for
 */
export async function tryOut(combination, folder, tarball, env) {
  const { format, http, store, node } = combination;
  mkdirSync(join(folder, 'src'), { recursive: true });
  cpSync(join(here, 'application'), join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'src', 'storage.ts'), store === 'memory' ? STORAGE.memory : STORAGE.sqlite);
  writeFileSync(join(folder, 'src', 'adapter.ts'), ADAPTER[http]);
  writeJson(join(folder, 'package.json'), {
    private: true,
    type: format === 'esm' ? 'module' : 'commonjs',
    dependencies: { 'nestjs-millrace': `file:${tarball}`, ...dependenciesOf(combination) },
    allowScripts: { 'better-sqlite3': true, sqlite3: true },
  });
  writeJson(join(folder, 'tsconfig.json'), {
    compilerOptions: {
      target: 'ES2023',
      module: 'NodeNext',
      strict: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      esModuleInterop: true,
      types: ['node'],
      rootDir: 'src',
      outDir: 'out',
    },
    include: ['src'],
  });
  // The driver that is built here already fits this Node, and building it takes minutes.
  const prebuilt = node === null && store === 'better-sqlite3';
  const options = ['--no-audit', '--no-fund', '--no-package-lock', ...(prebuilt ? ['--ignore-scripts'] : [])];
  await run('npm', ['install', ...options], { cwd: folder, env });
  if (prebuilt) copyDriver(folder);
  await run(join(folder, 'node_modules', '.bin', 'tsc'), [], { cwd: folder, env });
  const { stdout } = await run('node', ['out/main.js'], { cwd: folder, env, timeout: 60_000 });
  if (stdout.trim() !== 'ran') throw new Error(`It wrote:\n${stdout}`);
}

function copyDriver(folder) {
  const build = join('node_modules', 'better-sqlite3', 'build');
  cpSync(join(root, build), join(folder, build), { recursive: true });
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Packs the package as it would be published. */
export async function pack(folder) {
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root });
  const file = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  return join(folder, file);
}

/** An environment whose `node` is of that major version, with the headers that building a driver needs. */
export async function environmentOf(major, folder) {
  if (major === null) return process.env;
  mkdirSync(folder, { recursive: true });
  writeJson(join(folder, 'package.json'), { private: true, allowScripts: { node: true } });
  await run('npm', ['install', '--silent', '--no-package-lock', `node@${major}`], { cwd: folder });
  const modules = join(folder, 'node_modules', 'node', 'node_modules');
  const headers = readdirSync(modules).find((name) => name.startsWith('node-'));
  return {
    ...process.env,
    npm_config_nodedir: join(modules, headers),
    PATH: `${join(folder, 'node_modules', 'node', 'bin')}:${process.env.PATH}`,
  };
}
