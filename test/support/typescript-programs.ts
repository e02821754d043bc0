import { join } from 'node:path';

/** Options with which Node runs the TypeScript of this repository as it is. */
export const RUN_TYPESCRIPT = ['--require', join(__dirname, 'typescript-loader.cjs')];

/** A program of the tests, for a process of its own. */
export function programFile(name: string): string {
  return join(__dirname, '../cases/programs', `${name}.ts`);
}
