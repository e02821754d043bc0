import { INITIAL_TABLES } from './migrations/0001-initial';
import type { Column, ColumnType, Table } from './table';

/** The tables as they are after the newest migration. */
export const TABLES = INITIAL_TABLES;

export type TableName = keyof typeof TABLES;

/** Type of a column, for a rowset that is written to it. */
export function typesOf<T extends TableName, C extends keyof (typeof TABLES)[T]['columns'] & string>(
  table: T,
  columns: readonly C[],
): Record<C, ColumnType> {
  const known: Table['columns'] = TABLES[table].columns;
  return Object.fromEntries(columns.map((column) => [column, (known[column] as Column).type])) as Record<C, ColumnType>;
}

export type { Column, ColumnType, Index, Table } from './table';

export type JobColumn = keyof (typeof TABLES)['jobs']['columns'];
