import type { DeleteParts, InsertParts, SelectParts, UpdateParts } from '../relational/dialect';
import { TABLES, type TableName } from '../relational/schema/tables';

type TableNames = (name: TableName) => string;

const WAIT = 'with (updlock, rowlock)';
const SKIP = 'with (updlock, rowlock, readpast)';
const SHARE = 'with (repeatableread, rowlock)';
const LOCKS = { wait: WAIT, skip: SKIP, share: SHARE } as const;
// Never a page: a locked page would hide the rows of others from claims, which read past it.
const WRITE = 'with (rowlock)';

/** Statements as SQL Server spells them: OUTPUT, TOP and table hints. */
export function transactSql(table: TableNames) {
  const target = (name: TableName, as: string, hint: string) => `${table(name)} as ${as} ${hint}`;

  return {
    select(parts: SelectParts): string {
      const as = parts.as ?? parts.table;
      const lock = parts.lock === undefined ? '' : ` ${LOCKS[parts.lock]}`;
      return [
        `select ${parts.limit === undefined ? '' : `top (${parts.limit}) `}${parts.columns}`,
        `from ${parts.from ?? `${table(parts.table)} as ${as}${lock}`}`,
        parts.join,
        `where ${parts.where}`,
        parts.orderBy && `order by ${parts.orderBy}`,
      ]
        .filter(Boolean)
        .join(' ');
    },

    update(parts: UpdateParts): string {
      const source = parts.from ? ` cross join ${parts.from}` : '';
      return (
        `update ${parts.as} set ${parts.set} ${output('inserted', parts.returning)} ` +
        `from ${target(parts.table, parts.as, hintOf(parts.where))}${source} where ${parts.where}`
      );
    },

    insert(parts: InsertParts): string {
      const columns = parts.columns.join(', ');
      return [
        `insert into ${table(parts.table)} (${columns})`,
        parts.returning.length > 0 && output('inserted', parts.returning),
        parts.unlessTaken ? selectFree(parts, parts.unlessTaken.column) : parts.select,
      ]
        .filter(Boolean)
        .join(' ');
    },

    delete(parts: DeleteParts): string {
      return `delete ${parts.as} ${output('deleted', parts.returning)} from ${target(parts.table, parts.as, hintOf(parts.where))} where ${parts.where}`;
    },
  };

  /**
   * The rows of an insert whose value nobody holds, and of several with one value the first. The range lock keeps everybody
   * else from inserting that value until the commit; ranges are taken in one order, so two batches cannot deadlock.
   */
  function selectFree({ table: name, columns, select }: InsertParts, column: string): string {
    const [, rows = select, order] = /^(.*?)(?: order by ([^()]*))?$/s.exec(select) ?? [];
    const listed = (alias: string) => columns.map((each) => `${alias}.${each}`).join(', ');
    const first = `row_number() over (partition by r.${column} order by ${primaryKey(name, 'r')}) as nth`;
    return (
      `select ${listed('f')} from (select top (${MOST_ROWS}) ${listed('r')}, ${first} ` +
      `from (${rows}) as r (${columns.join(', ')}) order by ${order ?? `r.${column}`}) as f ` +
      `where f.${column} is null or f.nth = 1 and not exists (select 1 from ${table(name)} as held with (updlock, holdlock, rowlock) ` +
      `where held.${column} = f.${column} and held.${column} is not null)`
    );
  }
}

/** Rows that a statement picked by reading past locked ones are found again without waiting for others, whatever the plan. */
function hintOf(where: string): string {
  return where.includes(SKIP) ? SKIP : WRITE;
}

// An order inside a from-item is kept only with TOP.
const MOST_ROWS = 2 ** 31 - 1;

function output(pseudoTable: 'inserted' | 'deleted', columns: readonly string[]): string {
  return `output ${columns.map((column) => `${pseudoTable}.${column} as ${column}`).join(', ')}`;
}

function primaryKey(name: TableName, alias: string): string {
  return TABLES[name].primaryKey.map((column) => `${alias}.${column}`).join(', ');
}
