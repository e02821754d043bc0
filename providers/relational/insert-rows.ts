import type { Dialect } from './dialect';
import { type TableName, typesOf } from './schema/tables';

interface RowsInsert<C extends string> {
  readonly table: TableName;
  readonly columns: readonly C[];
  /** The parameter with a JSON array of objects of these columns. */
  readonly rows: string;
  /** A column under a unique index: rows whose value is taken are left out instead of failing. */
  readonly unlessTaken?: C;
  /** A further condition on a row, which is called `r`. */
  readonly where?: string;
  readonly returning: readonly string[];
}

/** An insert of the rows of a JSON parameter. */
export function insertRows<C extends string>(d: Dialect, insert: RowsInsert<C>): string {
  const { table, columns, rows, unlessTaken, where = '1 = 1', returning } = insert;
  const types = typesOf(table, columns as readonly never[]);
  return d.insert({
    table,
    columns,
    select: `select ${columns.map((column) => `r.${column}`).join(', ')} from ${d.rowset(rows, types, 'r')} where ${where}`,
    ...(unlessTaken && { unlessTaken: { column: unlessTaken, value: `r.${unlessTaken}` } }),
    returning,
  });
}
