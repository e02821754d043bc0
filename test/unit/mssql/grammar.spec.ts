import {
  CALLER_TRANSACTIONS,
  boundedBy,
  readCommitted,
  yieldingInDeadlocks,
} from '../../../providers/mssql/mssql.calls';
import { allStatements, DIALECTS, schemaStatements } from '../relational/all-statements';
import { mistakesIn } from './transact-sql';

const asSent = (sql: string) => boundedBy(500, yieldingInDeadlocks(readCommitted(sql)));

describe('the statements for SQL Server', () => {
  it.each(allStatements(DIALECTS.mssql).map(({ label, statement }) => [label, statement] as const))(
    '%s is T-SQL that SQL Server and Babelfish both have',
    (_, statement) => {
      expect(mistakesIn(statement.sql)).toEqual([]);
    },
  );

  it.each(schemaStatements(DIALECTS.mssql).map(({ label, statement }) => [label, statement.sql] as const))(
    '%s is T-SQL that SQL Server and Babelfish both have',
    (_, sql) => {
      expect(mistakesIn(sql)).toEqual([]);
    },
  );

  it.each([
    ['a statement with what is set for it', asSent('select 1 as found')],
    ['the savepoint in a transaction of the application', CALLER_TRANSACTIONS.savepoint],
    ['the way back to it', CALLER_TRANSACTIONS.rollback],
  ])('%s is T-SQL', (_, sql) => {
    expect(mistakesIn(sql)).toEqual([]);
  });

  it('fills indexes by conditions that SQL Server allows: comparisons with constants, IN, IS NULL and AND', () => {
    const comparison = /^\w+ (=|<>|<|<=|>|>=) \d+$|^\w+ in \(\d+(, \d+)*\)$|^\w+ is (not )?null$/;
    const conditions = schemaStatements(DIALECTS.mssql).flatMap(
      ({ statement }) => /^create .*index .* where (.*)$/.exec(statement.sql)?.[1]?.split(' and ') ?? [],
    );

    expect(conditions.length).toBeGreaterThan(10);
    expect(conditions.filter((condition) => !comparison.test(condition))).toEqual([]);
  });

  it('stores every text by code unit', () => {
    const texts = schemaStatements(DIALECTS.mssql).flatMap(({ statement }) =>
      [...statement.sql.matchAll(/\b\w+ n?(var)?char\(\w+\)( collate \w+)?/g)].map(([column]) => column),
    );

    expect(texts.length).toBeGreaterThan(50);
    expect(texts.filter((column) => !column.endsWith(' collate Latin1_General_100_BIN2'))).toEqual([]);
  });
});

describe('the grammar', () => {
  const claim = allStatements(DIALECTS.mssql).find(({ label }) => label === 'claimStatements.readyOfQueue')!.statement
    .sql;

  it.each([
    ['a lost parenthesis', claim.replace(/\)$/, '')],
    ['a comma too many', claim.replace('output inserted.id as id,', 'output inserted.id as id,,')],
    ['a keyword out of place', claim.replace(' where ', ' where from ')],
    ['LIMIT', 'select id from jobs order by id limit 1'],
    ['RETURNING', 'delete from jobs where id = @0 returning id'],
    ['a condition as a value', 'select exists (select 1 from jobs) as found'],
    ['a cast of PostgreSQL', 'select id::text as id from jobs'],
    ['a filter of an aggregate', 'select count(*) filter (where state = 1) as n from jobs'],
    ['a row value', 'select id from jobs where (priority, id) < (@0, @1)'],
    ['the place of nulls in an order', 'select id from jobs order by due_at nulls last'],
    ['concatenation by bars', "select id || 'x' as id from jobs"],
    ['a boolean', 'select id from jobs where closing = true'],
    ['a function of another database', 'select length(args) as size from jobs'],
    ['a derived table without a name', 'select id from (select id from jobs)'],
    ['an order that a derived table cannot keep', 'select id from (select id from jobs order by id) as j'],
    ['an order that a list cannot keep', 'select id from jobs where id in (select id from jobs order by id)'],
    ['rows before an update', 'update j set state = 1 output deleted.id as id from jobs as j'],
    ['MERGE', 'merge into jobs using nodes on jobs.id = nodes.id when matched then delete;'],
    ['a claim that takes whole pages', 'select id from jobs with (updlock, readpast) where state = 1'],
    ['a dirty read', 'select id from jobs with (nolock) where state = 1'],
  ])('notices %s', (_, sql) => {
    expect(mistakesIn(sql)).not.toEqual([]);
  });
});
