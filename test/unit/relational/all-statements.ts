import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { encodeCursor, INSTANCE_STATES, JOB_STATES, newId } from '../../../lib/storage';
import { sqlServerDialect } from '../../../providers/mssql/mssql.dialect';
import { serverStatements } from '../../../providers/mssql/mssql.server';
import { postgresDialect } from '../../../providers/postgres/postgres.dialect';
import type { Dialect } from '../../../providers/relational/dialect';
import { queryInstances, queryJobs, queryRecurring, getStatistics } from '../../../providers/relational/monitoring';
import type { Operation, Row } from '../../../providers/relational/operation';
import { runSync } from '../../../providers/relational/runner';
import { migrate, MIGRATIONS, recordMigration } from '../../../providers/relational/schema/migrator';
import { type CompiledStatement, compileStatement, type Statement } from '../../../providers/relational/statement';
import { sqliteDialect } from '../../../providers/sqlite/sqlite.dialect';

const RELATIONAL = join(__dirname, '../../../providers/relational');
const NOW = new Date('2026-01-01T00:00:00Z');

export const DIALECTS = {
  postgres: postgresDialect('millrace'),
  sqlite: sqliteDialect,
  mssql: sqlServerDialect('millrace'),
} satisfies Record<string, Dialect>;

/** A statement that is sent, under a label that says where it comes from. */
export interface LabelledStatement {
  readonly label: string;
  readonly statement: CompiledStatement;
}

/** Every statement of the relational operations in one dialect. */
export function allStatements(dialect: Dialect): LabelledStatement[] {
  return [...exportedStatements(), ...filteredLists(), ...ofTheServer(dialect)].map(({ label, statement }) => ({
    label,
    statement: compileStatement(statement, dialect),
  }));
}

/** Every statement that creates or upgrades the schema, in order, on a database that has none. */
export function schemaStatements(dialect: Dialect): LabelledStatement[] {
  const seen: LabelledStatement[] = [];
  const [newest] = MIGRATIONS.slice(-1);
  const operations = [migrate(dialect, NOW.getTime()), recordMigration({ ...newest!, version: 2 }, NOW.getTime())];
  for (const operation of operations) {
    for (const statement of statementsOf(operation, ledgerOnceItIsWritten())) {
      seen.push({ label: `schema ${seen.length + 1}`, statement: compileStatement(statement, dialect) });
    }
  }
  return seen;
}

/** Names of statements, as patterns where they are made of parts, and files with nameless ones, as the sources spell them. */
export function statementsInSources(): { names: RegExp[]; filesWithNameless: string[] } {
  const sources = sourceFiles().map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  return {
    names: sources.flatMap(({ text }) =>
      [...text.matchAll(/\bname: ['`]([^'`]+)['`],\s*text:/g)].map(
        ([, name]) => new RegExp(`^${name!.replaceAll(/\$\{[^}]*\}/g, '\\w+')}$`),
      ),
    ),
    filesWithNameless: sources
      .filter(({ text }) => /\bname: '',/.test(text))
      .map(({ file }) => relative(RELATIONAL, file)),
  };
}

/** What the operations of a file say they send, collected from whatever is exported as `…Statements`. */
function exportedStatements(): { label: string; statement: Statement }[] {
  return sourceFiles().flatMap((file) =>
    Object.entries(require(file) as Record<string, unknown>)
      .filter(([name, value]) => name.endsWith('Statements') && typeof value === 'object')
      .flatMap(([name, value]) =>
        Object.entries(value as Record<string, Statement>).map(([key, statement]) => ({
          label: `${name}.${key}`,
          statement,
        })),
      ),
  );
}

/** The lists of the dashboard, whose statements are made of their filters: none of them, and all at once. */
function filteredLists(): { label: string; statement: Statement }[] {
  const after = encodeCursor(newId(NOW));
  const dates = { createdAfter: NOW, createdBefore: NOW };
  const jobs = { queue: 'q', handler: 'h', recurringId: 'r', tenantId: 't', cursor: after, ...dates };
  const instances = { definitionId: 'd', definitionVersion: 1, tenantId: 't', cursor: after, ...dates };
  const recurring = { queue: 'q', tenantId: 't' };
  const operations: Record<string, Operation<unknown>> = {
    'queryJobs, no filter': queryJobs({}),
    'queryJobs, all filters': queryJobs({ ...jobs, states: JOB_STATES }),
    'queryJobs, no tenant': queryJobs({ tenantId: null }),
    'queryInstances, no filter': queryInstances({}),
    'queryInstances, all filters': queryInstances({ ...instances, states: INSTANCE_STATES }),
    'queryRecurring, no filter': queryRecurring({}),
    'queryRecurring, all filters': queryRecurring({ ...recurring, cursor: encodeCursor('1', 'a') }),
    'queryRecurring, after a parked one': queryRecurring({ ...recurring, cursor: encodeCursor('parked', 'a') }),
    'getStatistics, all tenants': getStatistics(undefined, NOW.getTime()),
    'getStatistics, one tenant': getStatistics('t', NOW.getTime()),
  };
  return Object.entries(operations).flatMap(([label, operation]) =>
    statementsOf(operation, () => []).map((statement, index) => ({ label: `${label} (${index + 1})`, statement })),
  );
}

function ofTheServer(dialect: Dialect): { label: string; statement: Statement }[] {
  const version = { label: 'version', statement: { name: '', text: (d: Dialect) => d.versionSql } };
  if (dialect.provider !== 'mssql') return [version];
  return [version, { label: 'serverStatements.describe', statement: serverStatements.describe }];
}

/** Runs an operation without a database and notes what it asks for. */
function statementsOf(operation: Operation<unknown>, answer: (statement: Statement) => readonly Row[]): Statement[] {
  const asked: Statement[] = [];
  runSync(operation, (step) => {
    if (step.kind !== 'query') return [];
    asked.push(step.statement);
    return answer(step.statement);
  });
  return asked;
}

function ledgerOnceItIsWritten(): (statement: Statement) => readonly Row[] {
  let asked = 0;
  const ledger = { found: 1, version: 1, min_code_version: 1, store_id: newId(NOW) };
  return () => (++asked <= 2 ? [] : [ledger]);
}

function sourceFiles(folder = RELATIONAL): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    return entry.name.endsWith('.ts') && entry.name !== 'index.ts' ? [path] : [];
  });
}
