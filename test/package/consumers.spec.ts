import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
const MINUTE = 60_000;
const QUIET = ['--no-audit', '--no-fund', '--no-package-lock', '--silent', '--ignore-scripts'];
const DRIVER = join('node_modules', 'better-sqlite3', 'build');

const environment = { ...process.env, NODE_ENV: 'test' }; // the consumers mount the dashboard
const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, env: environment, encoding: 'utf8' });

describe('The packed package, installed into an empty folder', () => {
  let folder: string;
  let tarball: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-consumers-'));
    const name = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], root).trim();
    tarball = join(folder, name);
  }, MINUTE);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(['nest11-cjs', 'nest12-esm'])(
    'runs a job of %s, and still knows it after a restart',
    (name) => {
      const consumer = join(folder, name);
      cpSync(join(__dirname, 'consumers', name), consumer, { recursive: true });
      run('npm', ['install', ...QUIET, tarball], consumer);
      // Scripts are ignored and the compiled driver is ours: to compile it anew takes a minute per consumer.
      cpSync(join(root, DRIVER), join(consumer, DRIVER), { recursive: true });

      const printed = run(process.execPath, ['main.js'], consumer);

      expect(JSON.parse(printed)).toEqual({ sent: 'order-1', state: 'Succeeded' });
    },
    5 * MINUTE,
  );
});
