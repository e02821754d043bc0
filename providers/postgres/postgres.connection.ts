import type { DataSource } from 'typeorm';
import { InvalidArgumentError, type StorageEnvironment } from '../../lib/storage';
import { AsyncDatabase } from '../relational/async-database';
import type { CallerTransactionSql } from '../relational/caller-transactions';
import type { Connection, ConnectionToolkit } from '../relational/connection';
import type { Database } from '../relational/database';
import { loadPeer } from '../relational/peer-packages';
import { channelOf } from './postgres.channel';
import { postgresDialect } from './postgres.dialect';
import { type ListeningClient, PostgresNotifier } from './postgres.notifier';
import type { OwnPoolOptions, ResolvedPostgresOptions } from './postgres.options';
import { guardedClient, guardPool } from './postgres.pool';
import { notifyStatement, PostgresDriver } from './postgres.session';

type PostgresPackage = { Client: new (config: object) => ListeningClient };

const loadTypeorm = () => loadPeer('typeorm', () => require('typeorm') as typeof import('typeorm'));
const loadPg = () => loadPeer('pg', () => require('pg') as PostgresPackage);

/** A pool of Millrace's own, or the application's data source, which Millrace never closes. */
export class PostgresConnection implements Connection {
  readonly dialect;
  readonly callerTransactions: CallerTransactionSql;
  readonly notifier: PostgresNotifier | null;
  readonly autoCreateSchema: boolean;
  readonly howToMigrate: string;
  private own: DataSource | null = null;

  constructor(
    private readonly options: ResolvedPostgresOptions,
    environment: StorageEnvironment,
  ) {
    const { schema, listen } = options;
    this.dialect = postgresDialect(schema);
    this.callerTransactions = callerTransactions(schema);
    this.autoCreateSchema = options.autoCreateSchema;
    this.howToMigrate =
      `Run the migrations of postgresMigrations({ schema: '${schema}' }) from 'nestjs-millrace/postgres', ` +
      'or start once with autoCreateSchema: true.';
    this.notifier =
      listen === false
        ? null
        : new PostgresNotifier(() => new (loadPg().Client)(this.listenerConfig()), schema, environment.logger);
  }

  async connect({ callers, lockTimeout }: ConnectionToolkit): Promise<Database> {
    const driver = new PostgresDriver(await this.dataSource(), this.options.schema, this.options.preparedStatements);
    return new AsyncDatabase(this.dialect, driver, callers, lockTimeout);
  }

  async listen(): Promise<void> {
    await this.notifier?.open();
  }

  async disconnect(): Promise<void> {
    await this.notifier?.close();
    const own = this.own;
    this.own = null;
    if (own?.isInitialized) await own.destroy();
  }

  private async dataSource(): Promise<DataSource> {
    const { source } = this.options;
    if ('dataSource' in source) {
      if (!source.dataSource.isInitialized) {
        throw new InvalidArgumentError(
          'postgresStorage: the dataSource is not initialized. Call initialize() on it first.',
        );
      }
      guardPool(source.dataSource);
      return source.dataSource;
    }
    const Client = guardedClient(loadPg().Client);
    const { DataSource } = loadTypeorm();
    this.own = await new DataSource({
      type: 'postgres',
      url: source.url,
      poolSize: source.poolSize,
      ...(source.ssl !== undefined && { ssl: source.ssl }),
      applicationName: 'millrace',
      extra: { keepAlive: true, Client, ...this.sessionSettings(), ...source.extra },
      // An idle connection that the server closes is not news: the pool makes another one.
      poolErrorHandler: () => undefined,
      logging: false,
    }).initialize();
    return this.own;
  }

  /**
   * A prepared statement keeps the plan that it got on a new table: a walk over all of it. Millrace's statements have an
   * index each, so its own sessions are told not to prefer such walks, nor to compile short statements because one would cost much by that
   * reckoning. (Unprepared ones are planned anew each time, and a
   * proxy may refuse settings.)
   */
  private sessionSettings(): object {
    return this.options.preparedStatements ? { options: '-c enable_seqscan=off -c jit=off' } : {};
  }

  private listenerConfig(): object {
    const { listen, source } = this.options;
    const shared = { keepAlive: true, application_name: 'millrace listener' };
    if (typeof listen === 'object') return { ...shared, connectionString: listen.url };
    if ('dataSource' in source) return { ...shared, ...configOf(source.dataSource) };
    return { ...shared, ...sslOf(source), connectionString: source.url };
  }
}

function sslOf({ ssl }: OwnPoolOptions): object {
  return ssl === undefined ? {} : { ssl };
}

/** Where the application's data source connects to, as the driver spells it. */
function configOf(dataSource: DataSource): object {
  const options = dataSource.options as unknown as Record<string, unknown>;
  const { master = options } = (options['replication'] ?? {}) as { master?: Record<string, unknown> };
  const { url, host, port, username: user, password, database, ssl = options['ssl'] } = master;
  return {
    ...(ssl !== undefined && { ssl }),
    ...(url === undefined ? { host, port, user, password, database } : { connectionString: url }),
  };
}

function callerTransactions(schema: string): CallerTransactionSql {
  return {
    savepoint: 'savepoint millrace',
    release: 'release savepoint millrace',
    rollback: 'rollback to savepoint millrace',
    limitWaits: (timeout) =>
      `select current_setting('lock_timeout') as value, pg_backend_pid() as backend, set_config('lock_timeout', '${Math.max(1, Math.round(timeout))}ms', true) as bounded`,
    restoreWaits: (value) => `select set_config('lock_timeout', '${value.replaceAll("'", "''")}', true) as restored`,
    wake: (step) => notifyStatement(channelOf(schema), step),
  };
}
