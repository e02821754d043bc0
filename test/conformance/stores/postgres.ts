import { postgresStorage } from 'nestjs-millrace/postgres';
import { DataSource } from 'typeorm';
import type { ServerKind } from './server';

export const POSTGRES: ServerKind = {
  register: (url, schema) => postgresStorage({ url, schema }),
  connect: (url) => new DataSource({ type: 'postgres', url }).initialize(),
  dropSchema: (dataSource, schema) => dataSource.query(`drop schema if exists ${schema} cascade`),
  dropDatabase: (dataSource, name) => dataSource.query(`drop database if exists ${name} with (force)`),
};
