import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { minifySync, transformSync } from '@swc/core';
import { RUN_TYPESCRIPT } from './typescript-programs';

const PACKAGES = join(__dirname, '../../node_modules');

/** A program as a bundler ships it: in one file, its classes renamed to a letter or two in the order of their appearance. */
export class MinifiedBuild {
  private constructor(private readonly file: string) {}

  static make(folder: string, name: string, source: string): MinifiedBuild {
    const compiled = transformSync(source, {
      filename: `${name}.ts`,
      swcrc: false,
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
      module: { type: 'commonjs' },
    });
    const options = { mangle: { toplevel: true }, compress: true, toplevel: true, module: true } as const;
    const file = join(folder, `${name}.js`);
    writeFileSync(file, minifySync(compiled.code, options).code);
    return new MinifiedBuild(file);
  }

  /** Runs it to its end. */
  async run(env: Record<string, string>): Promise<{ readonly code: number; readonly output: string }> {
    const run = promisify(execFile)(process.execPath, [...RUN_TYPESCRIPT, this.file], {
      env: { ...process.env, NO_COLOR: '1', NODE_PATH: PACKAGES, ...env },
      timeout: 30_000,
    });
    try {
      const { stdout, stderr } = await run;
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, output: stdout + stderr };
    }
  }
}
