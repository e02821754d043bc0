import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { StoreAddress } from '../support/store-address';
import { programFile, RUN_TYPESCRIPT } from '../support/typescript-programs';

const SQLITE: StoreAddress = { kind: 'sqlite', database: ':memory:' };
const POSTGRES: StoreAddress = {
  kind: 'postgres',
  url: 'postgres://postgres@127.0.0.1:1/postgres',
  schema: 'millrace',
};
const MSSQL: StoreAddress = { kind: 'mssql', url: 'mssql://sa:secret@127.0.0.1:1/millrace', schema: 'millrace' };
const MEMORY: StoreAddress = { kind: 'memory', name: 'no driver' };

async function openWithout(hidden: readonly string[], store: StoreAddress): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [...RUN_TYPESCRIPT, programFile('without-driver')], {
    env: { ...process.env, MILLRACE_PROGRAM: JSON.stringify({ store, hidden }) },
  });
  return JSON.parse(stdout) as unknown;
}

describe('a package that is not installed', () => {
  it.each([
    [POSTGRES, 'pg'],
    [POSTGRES, 'typeorm'],
    [SQLITE, 'better-sqlite3'],
    [SQLITE, 'typeorm'],
    [MSSQL, 'mssql'],
  ])('stops the start on %j, and the error names the line to run: %s', async (store, missing) => {
    expect(await openWithout([missing], store)).toEqual({
      code: 'MILLRACE_DRIVER_NOT_INSTALLED',
      message: expect.stringContaining(`The ${missing} package is not installed. Run: npm i ${missing}`),
    });
  });

  it('is none that a store in memory would need', async () => {
    expect(await openWithout(['typeorm', 'pg', 'mssql', 'better-sqlite3', 'sqlite3'], MEMORY)).toBe('opened');
  });
});
