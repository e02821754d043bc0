import type { DataSource, DataSourceOptions } from 'typeorm';
import { InvalidArgumentError, type StorageLogger } from '../../lib/storage';
import { AsyncDatabase } from '../relational/async-database';
import type { Connection, ConnectionToolkit } from '../relational/connection';
import type { Database } from '../relational/database';
import { query } from '../relational/operation';
import { loadPeer } from '../relational/peer-packages';
import { CALLER_TRANSACTIONS } from './mssql.calls';
import { sqlServerDialect } from './mssql.dialect';
import type { ResolvedPool, ResolvedSqlServerOptions } from './mssql.options';
import { checkServer, serverStatements } from './mssql.server';
import { SqlServerDriver } from './mssql.session';

const loadTypeorm = () => loadPeer('typeorm', () => require('typeorm') as typeof import('typeorm'));
const loadMssql = () => loadPeer('mssql', () => require('mssql') as unknown);

/** A pool of Millrace's own, or the application's data source, which Millrace never closes. */
export class SqlServerConnection implements Connection {
  readonly dialect;
  readonly callerTransactions = CALLER_TRANSACTIONS;
  readonly notifier = null;
  readonly autoCreateSchema: boolean;
  readonly howToMigrate: string;
  private own: DataSource | null = null;

  constructor(
    private readonly options: ResolvedSqlServerOptions,
    private readonly logger: StorageLogger,
  ) {
    const { schema, autoCreateSchema } = options;
    this.dialect = sqlServerDialect(schema);
    this.autoCreateSchema = autoCreateSchema;
    this.howToMigrate =
      `Run the migrations of sqlServerMigrations({ schema: '${schema}' }) from 'nestjs-millrace/mssql', ` +
      'or start once with autoCreateSchema: true.';
  }

  async connect({ callers, lockTimeout }: ConnectionToolkit): Promise<Database> {
    const driver = new SqlServerDriver(await this.dataSource());
    const database = new AsyncDatabase(this.dialect, driver, callers, lockTimeout);
    const [server] = await database.read(() => query(serverStatements.describe, {}));
    checkServer(server, this.logger);
    return database;
  }

  async listen(): Promise<void> {}

  async disconnect(): Promise<void> {
    const own = this.own;
    this.own = null;
    if (own?.isInitialized) await own.destroy();
  }

  private async dataSource(): Promise<DataSource> {
    const { source } = this.options;
    if (!('dataSource' in source)) {
      loadMssql();
      const { DataSource } = loadTypeorm();
      this.own = await new DataSource(dataSourceOptions(source)).initialize();
      return this.own;
    }
    if (source.dataSource.isInitialized) return source.dataSource;
    throw new InvalidArgumentError(
      'sqlServerStorage: the dataSource is not initialized. Call initialize() on it first.',
    );
  }
}

/** Exported for tests. */
export function dataSourceOptions({ url, poolSize, options, extra }: ResolvedPool): DataSourceOptions {
  return {
    type: 'mssql',
    url,
    options: { appName: 'millrace', ...options },
    // An idle connection that the server closes is not news: the pool makes another one.
    pool: { max: poolSize, errorHandler: () => undefined },
    // A lost connection is met by a retry; asking the server before each statement would double the round trips.
    extra: { validateConnection: 'socket', ...extra },
    logging: false,
  };
}
