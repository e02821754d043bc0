import type { Dialect } from '../dialect';
import type { Column, Table } from './table';
import type { TableName } from './tables';

/** The statements that create a table and its indexes. */
export function createTable(dialect: Dialect, name: TableName, table: Table): string[] {
  const columns = Object.entries(table.columns).map(([column, definition]) => columnDdl(dialect, column, definition));
  const key = `primary key (${table.primaryKey.join(', ')})`;
  return [
    `create table ${dialect.table(name)} (${[...columns, key].join(', ')})${dialect.tableSuffix(table)}`,
    ...table.indexes.map(
      ({ name: index, columns: indexed, unique, where }) =>
        `create ${unique ? 'unique ' : ''}index ${dialect.indexName(index)} on ${dialect.table(name)} (${indexed})` +
        (where ? ` where ${where}` : ''),
    ),
  ];
}

function columnDdl(dialect: Dialect, name: string, { type, nullable, default: value }: Column): string {
  const constraint = nullable ? 'null' : 'not null';
  return `${name} ${dialect.columnType(type)} ${constraint}${value === undefined ? '' : ` default ${value}`}`;
}
