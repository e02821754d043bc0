import { schemaStatements, DIALECTS, allStatements } from './all-statements';

const Database = require('better-sqlite3') as new (file: string) => {
  prepare(sql: string): unknown;
  exec(sql: string): unknown;
  close(): void;
};

describe('the statements for SQLite', () => {
  const database = new Database(':memory:');
  for (const { statement } of schemaStatements(DIALECTS.sqlite)) {
    if (statement.sql.startsWith('create ')) database.exec(statement.sql);
  }
  afterAll(() => database.close());

  it.each([...allStatements(DIALECTS.sqlite), ...schemaStatements(DIALECTS.sqlite).filter(isNoDdl)])(
    '$label can be prepared',
    ({ statement }) => {
      expect(() => database.prepare(statement.sql)).not.toThrow();
    },
  );
});

function isNoDdl({ statement }: { statement: { sql: string } }): boolean {
  return !statement.sql.startsWith('create ');
}
