import { createHash } from 'node:crypto';
import type { CompiledStatement } from '../relational/statement';

const names = new WeakMap<CompiledStatement, string>();

/**
 * The name under which a statement is prepared on a connection. It carries a digest of the text, since one pool may serve
 * several schemas, and stays below the 63 bytes that PostgreSQL keeps of a name.
 */
export function statementName(statement: CompiledStatement): string {
  let name = names.get(statement);
  if (name === undefined) {
    const digest = createHash('sha256').update(statement.sql).digest('hex').slice(0, 12);
    name = `millrace_${statement.name.slice(0, 38)}_${digest}`;
    names.set(statement, name);
  }
  return name;
}
