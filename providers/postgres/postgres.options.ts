import type { TlsOptions } from 'node:tls';
import type { DataSource } from 'typeorm';
import { InvalidArgumentError } from '../../lib/storage';

/** A pool of Millrace's own. */
export interface OwnPoolOptions {
  /** `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** Connections at the most, beside the one that listens. Default 10. */
  readonly poolSize?: number;
  /** Handed to the driver as it is. */
  readonly ssl?: boolean | TlsOptions;
  /** Further settings of the driver's pool, handed on as they are. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The application's own data source, initialized. Millrace uses its pool and never closes it. */
export interface OwnDataSourceOptions {
  readonly dataSource: DataSource;
}

export interface CommonPostgresOptions {
  /** Schema of the tables: lowercase letters, digits and underscores, 54 at the most. Default `millrace`. */
  readonly schema?: string;
  /** Create and upgrade the schema at startup. Default true. */
  readonly autoCreateSchema?: boolean;
  /**
   * Wake-ups by LISTEN, on a connection of its own. `{ url }` for a direct address where the pool goes through a proxy
   * such as PgBouncer, false to poll. Default true.
   */
  readonly listen?: boolean | { readonly url: string };
  /** Prepare statements by name; false behind a proxy that pools transactions. Default true. */
  readonly preparedStatements?: boolean;
}

export type PostgresStorageOptions = CommonPostgresOptions & (OwnPoolOptions | OwnDataSourceOptions);

export interface ResolvedPostgresOptions {
  readonly source: (OwnPoolOptions & { readonly poolSize: number }) | OwnDataSourceOptions;
  readonly schema: string;
  readonly autoCreateSchema: boolean;
  readonly listen: boolean | { readonly url: string };
  readonly preparedStatements: boolean;
}

/**
 * Fills the defaults in.
 *
 * @throws {InvalidArgumentError} naming the option
 */
export function resolvePostgresOptions(options: PostgresStorageOptions): ResolvedPostgresOptions {
  return {
    source: sourceOf(options),
    schema: checkedSchema(options.schema ?? 'millrace'),
    autoCreateSchema: options.autoCreateSchema ?? true,
    listen: options.listen ?? true,
    preparedStatements: options.preparedStatements ?? true,
  };
}

/** The name becomes part of statements and of the NOTIFY channel, so only plain ones are taken. */
export function checkedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,53}$/.test(schema)) return schema;
  throw new InvalidArgumentError(
    `schema must be 1 to 54 lowercase letters, digits and underscores, and start with no digit, got '${schema}'.`,
  );
}

function checkedDataSource(dataSource: DataSource): DataSource {
  const type = (dataSource as DataSource | undefined)?.options?.type;
  if (type === 'postgres') return dataSource;
  throw new InvalidArgumentError(
    `postgresStorage: dataSource must be a TypeORM data source of type postgres, got ${type ? `one of type ${type}` : typeof dataSource}.`,
  );
}

function sourceOf(options: PostgresStorageOptions): ResolvedPostgresOptions['source'] {
  if ('dataSource' in options) return { dataSource: checkedDataSource(options.dataSource) };
  const { url, poolSize = 10 } = options;
  if (typeof url !== 'string' || url.trim() === '') {
    throw new InvalidArgumentError(
      `postgresStorage: url must be an address such as 'postgres://user:password@host:5432/database', got '${url}'.`,
    );
  }
  if (!Number.isInteger(poolSize) || poolSize < 1) {
    throw new InvalidArgumentError(`postgresStorage: poolSize must be a whole number of 1 or more, got ${poolSize}.`);
  }
  return { ...options, url, poolSize };
}
