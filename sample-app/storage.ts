import type { StorageRegistration } from 'nestjs-millrace/storage';
import { sqlServerStorage } from 'nestjs-millrace/mssql';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { sqliteStorage } from 'nestjs-millrace/sqlite';

/** DATABASE_URL chooses a server; without it the jobs live in the file DATABASE_FILE. Nothing else changes. */
export function storageOf({ DATABASE_URL: url, DATABASE_FILE: file }: NodeJS.ProcessEnv): StorageRegistration {
  if (!url) return sqliteStorage({ database: file ?? 'sample.db' });
  const { protocol } = new URL(url);
  switch (protocol) {
    case 'postgres:':
    case 'postgresql:':
      return postgresStorage({ url });
    case 'mssql:':
      return sqlServerStorage({ url });
    default:
      throw new Error(`DATABASE_URL must begin with postgres:// or mssql://, not ${protocol}//`);
  }
}
