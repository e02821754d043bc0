import type { DataSource } from 'typeorm';
import { InvalidArgumentError } from '../../lib/storage';

/** A pool of Millrace's own. */
export interface OwnPoolOptions {
  /**
   * `mssql://user:password@host:1433/database`. A query is read as `options` of the driver, for example
   * `?encrypt=true&trustServerCertificate=true`.
   */
  readonly url: string;
  /** Connections at the most. Default 10. */
  readonly poolSize?: number;
  /** Options of the `mssql` driver, such as `encrypt`, `trustServerCertificate`, `instanceName`; they win over those in `url`. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Further settings of the driver's pool, such as `requestTimeout`, handed on as they are. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The application's own data source, initialized. Millrace uses its pool and never closes it. */
export interface OwnDataSourceOptions {
  readonly dataSource: DataSource;
}

export interface CommonSqlServerOptions {
  /** Schema of the tables: lowercase letters, digits and underscores, 54 at the most. Default `millrace`. */
  readonly schema?: string;
  /** Create and upgrade the schema at startup. Default true. */
  readonly autoCreateSchema?: boolean;
}

export type SqlServerStorageOptions = CommonSqlServerOptions & (OwnPoolOptions | OwnDataSourceOptions);

/** A pool to be made, in the words of TypeORM. */
export interface ResolvedPool {
  readonly url: string;
  readonly poolSize: number;
  readonly options: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, unknown>>;
}

export interface ResolvedSqlServerOptions {
  readonly source: ResolvedPool | OwnDataSourceOptions;
  readonly schema: string;
  readonly autoCreateSchema: boolean;
}

/**
 * Fills the defaults in.
 *
 * @throws {InvalidArgumentError} naming the option
 */
export function resolveSqlServerOptions(options: SqlServerStorageOptions): ResolvedSqlServerOptions {
  return {
    source: 'dataSource' in options ? checkedDataSource(options.dataSource) : poolOf(options),
    schema: checkedSchema(options.schema ?? 'millrace'),
    autoCreateSchema: options.autoCreateSchema ?? true,
  };
}

/** The name becomes part of statements, so only plain ones are taken. */
export function checkedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,53}$/.test(schema)) return schema;
  throw new InvalidArgumentError(
    `schema must be 1 to 54 lowercase letters, digits and underscores, and start with no digit, got '${schema}'.`,
  );
}

function checkedDataSource(dataSource: DataSource | undefined): OwnDataSourceOptions {
  const type: string = dataSource?.options?.type ?? 'nothing of that kind';
  if (dataSource && type === 'mssql') return { dataSource };
  throw new InvalidArgumentError(
    `sqlServerStorage: dataSource must be a TypeORM data source of type mssql, got ${type}.`,
  );
}

function poolOf({ url, poolSize = 10, options = {}, extra = {} }: OwnPoolOptions): ResolvedPool {
  if (typeof url !== 'string' || !/^(mssql|sqlserver):\/\/[^/?]/.test(url)) {
    throw new InvalidArgumentError(
      `sqlServerStorage: url must be an address such as 'mssql://user:password@host:1433/database', got '${withoutPassword(url)}'.`,
    );
  }
  if (!Number.isInteger(poolSize) || poolSize < 1) {
    throw new InvalidArgumentError(
      `sqlServerStorage: poolSize must be a whole number of 1 or more, got ${String(poolSize)}.`,
    );
  }
  const [address = url, query = ''] = url.split(/\?(?!.*@)/, 2);
  return { url: address, poolSize, options: { ...optionsIn(query), ...options }, extra };
}

function optionsIn(query: string): Record<string, unknown> {
  return Object.fromEntries([...new URLSearchParams(query)].map(([name, value]) => [name, valueOf(value)]));
}

function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** An address in the wrong form may still hold a password, and an error is likely to be logged. */
function withoutPassword(url: unknown): string {
  return String(url)
    .replace(/(password|pwd)\s*=[^;]*/gi, '$1=…')
    .replace(/(:\/\/[^/:@]*:).*@/, '$1…@');
}
