import { allStatements, DIALECTS, schemaStatements, statementsInSources } from './all-statements';

/** Printed, so that a reviewer sees every change of the SQL. */
describe.each(Object.entries(DIALECTS))('the statements of %s', (_, dialect) => {
  it.each(allStatements(dialect).map(({ label, statement }) => [label, statement] as const))(
    '%s',
    (_label, statement) => {
      expect(statement.sql).toMatchSnapshot();
    },
  );

  it('create the schema', () => {
    expect(schemaStatements(dialect).map(({ statement }) => statement.sql)).toMatchSnapshot();
  });
});

describe('the collection of statements', () => {
  it('misses none that the sources name', () => {
    const statements = [...allStatements(DIALECTS.postgres), ...schemaStatements(DIALECTS.postgres)];
    const collected = statements.map(({ statement }) => statement.name);
    const { names } = statementsInSources();

    const missing = names.filter((pattern) => !collected.some((name) => pattern.test(name)));

    expect(names.length).toBeGreaterThan(50);
    expect(missing).toEqual([]);
  });

  it('knows every file that makes statements without a name', () => {
    expect(statementsInSources().filesWithNameless.toSorted()).toEqual([
      'monitoring/instance-list.ts',
      'monitoring/job-list.ts',
      'monitoring/recurring-list.ts',
      'monitoring/statistics.ts',
      'relational-storage.ts',
      'schema/migrator.ts',
    ]);
  });

  it('finds no two statements of one name', () => {
    const names = allStatements(DIALECTS.postgres)
      .map(({ statement }) => statement.name)
      .filter((name) => name !== '');

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
