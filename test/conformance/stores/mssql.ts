import { sqlServerStorage } from 'nestjs-millrace/mssql';
import type { DataSource } from 'typeorm';
import { sqlServerDataSource } from '../../support/sql-server';
import { type ServerKind, tablesOf } from './server';

export const SQL_SERVER: ServerKind = {
  register: (url, schema) => sqlServerStorage({ url, schema }),
  connect: (url) => sqlServerDataSource(url).initialize(),
  dropSchema: async (dataSource, schema) => {
    for (const view of await viewsOf(dataSource, schema)) await dataSource.query(`drop view ${schema}.${view}`);
    for (const table of await tablesOf(dataSource, schema)) await dataSource.query(`drop table ${schema}.${table}`);
    await dataSource.query(`drop schema if exists ${schema}`);
  },
  dropDatabase: (dataSource, name) => dataSource.query(`drop database if exists ${name}`),
};

async function viewsOf(dataSource: DataSource, schema: string): Promise<string[]> {
  const rows: { name: string }[] = await dataSource.query(
    `select table_name as name from information_schema.views where table_schema = '${schema}'`,
  );
  return rows.map(({ name }) => name);
}
