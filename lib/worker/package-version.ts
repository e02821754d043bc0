import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

let version: string | undefined;

/** The version of this package; `unknown` where a bundler has left its package.json behind. */
export function packageVersion(): string {
  version ??= readVersion(__dirname) ?? 'unknown';
  return version;
}

function readVersion(folder: string): string | undefined {
  for (let current = folder; current !== dirname(current); current = dirname(current)) {
    try {
      const manifest = JSON.parse(readFileSync(join(current, 'package.json'), 'utf8')) as Record<string, unknown>;
      if (manifest['name'] === 'nestjs-millrace') return String(manifest['version']);
    } catch {
      // None here: the next folder up may have one.
    }
  }
  return undefined;
}
