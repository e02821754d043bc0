import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../providers/mssql/mssql.connection';
import { resolveSqlServerOptions } from '../../providers/mssql/mssql.options';

/** The application's own connections to SQL Server, made as the provider makes its own: the address says the rest. */
export function sqlServerDataSource(url: string): DataSource {
  const { source } = resolveSqlServerOptions({ url });
  if ('dataSource' in source) throw new Error('An address was resolved to a data source.');
  return new DataSource(dataSourceOptions(source));
}
