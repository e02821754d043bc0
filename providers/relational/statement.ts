import type { Dialect } from './dialect';

export type Value = string | number | null;
export type Values = Readonly<Record<string, Value>>;

/** A named piece of SQL with parameters spelt `:name`. Its text is made once per dialect and prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: (dialect: Dialect) => string;
}

/** A statement as a driver takes it. */
export interface CompiledStatement {
  readonly name: string;
  readonly sql: string;
  /** Names of the parameters, by position. */
  readonly parameters: readonly string[];
}

// `::type` is a cast, and a colon inside quotes is text: neither is a parameter.
const PARAMETER = /'[^']*'|::|:([a-zA-Z]\w*)/g;

/** Turns `:name` into the positions of a dialect. */
export function compileStatement(statement: Statement, dialect: Dialect): CompiledStatement {
  const parameters: string[] = [];
  const { placeholders } = dialect;
  const sql = statement.text(dialect).replace(PARAMETER, (match: string, name: string | undefined) => {
    if (name === undefined) return match;
    const known = placeholders.reused ? parameters.indexOf(name) : -1;
    return placeholders.at(known >= 0 ? known : parameters.push(name) - 1);
  });
  return { name: statement.name, sql: sql.replaceAll(/\s*\n\s*/g, ' ').trim(), parameters };
}

/** The values of a call in the order of the statement's positions. */
export function valuesOf(statement: CompiledStatement, values: Values): Value[] {
  return statement.parameters.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`Statement ${statement.name} lacks its parameter "${name}"`);
    return value;
  });
}

/** Compiles each statement once, but for those without a name: these are made for one call. */
export class StatementCache {
  private readonly compiled = new Map<Statement, CompiledStatement>();

  constructor(private readonly dialect: Dialect) {}

  get(statement: Statement): CompiledStatement {
    if (statement.name === '') return compileStatement(statement, this.dialect);
    let compiled = this.compiled.get(statement);
    if (!compiled) {
      compiled = compileStatement(statement, this.dialect);
      this.compiled.set(statement, compiled);
    }
    return compiled;
  }
}
