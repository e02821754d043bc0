import type { DeleteParts, InsertParts, SelectParts, UpdateParts } from './dialect';
import type { TableName } from './schema/tables';

type TableNames = (name: TableName) => string;

/** Statements as PostgreSQL and SQLite both spell them: RETURNING, LIMIT and ON CONFLICT. */
export function standardSql(
  table: TableNames,
  lock: (parts: SelectParts) => string,
  /** How RETURNING refers to a column of a changed row. */
  changed: (as: string, column: string) => string,
) {
  const returning = (as: string, columns: readonly string[], sparse: readonly string[] = []) =>
    columns.map((column) => returned(column, changed(as, column), sparse.includes(column))).join(', ');
  const from = (name: TableName, as: string | undefined) => `${table(name)} as ${as ?? name}`;

  return {
    select(parts: SelectParts): string {
      return [
        `select ${parts.columns} from ${parts.from ?? from(parts.table, parts.as)}`,
        parts.join,
        `where ${parts.where}`,
        parts.orderBy && `order by ${parts.orderBy}`,
        parts.limit && `limit ${parts.limit}`,
        parts.lock && lock(parts),
      ]
        .filter(Boolean)
        .join(' ');
    },

    update(parts: UpdateParts): string {
      const source = parts.from ? ` from ${parts.from}` : '';
      return `update ${from(parts.table, parts.as)} set ${parts.set}${source} where ${parts.where} returning ${returning(parts.as, parts.returning, parts.sparse)}`;
    },

    insert(parts: InsertParts): string {
      const conflict = parts.unlessTaken
        ? ` on conflict (${parts.unlessTaken.column}) where ${parts.unlessTaken.column} is not null do nothing`
        : '';
      const given = parts.returning.length === 0 ? '' : ` returning ${parts.returning.join(', ')}`;
      return `insert into ${table(parts.table)} (${parts.columns.join(', ')}) ${parts.select}${conflict}${given}`;
    },

    delete(parts: DeleteParts): string {
      return `delete from ${from(parts.table, parts.as)} where ${parts.where} returning ${returning(parts.as, parts.returning)}`;
    },
  };
}

function returned(column: string, reference: string, sparse: boolean): string {
  if (sparse) return `nullif(${reference}, 0) as ${column}`;
  return reference === column ? column : `${reference} as ${column}`;
}
