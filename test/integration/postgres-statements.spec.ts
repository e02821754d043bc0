import { DataSource } from 'typeorm';
import { postgresDialect } from '../../providers/postgres/postgres.dialect';
import { allStatements, schemaStatements } from '../unit/relational/all-statements';

const dialect = postgresDialect('statements_spec');
const isDdl = (sql: string) => sql.startsWith('create ');

/** One connection, since a statement is prepared on one. */
const dataSource = new DataSource({ type: 'postgres', url: process.env['MILLRACE_TEST_POSTGRES']!, poolSize: 1 });

beforeAll(async () => {
  await dataSource.initialize();
  await dataSource.query('drop schema if exists statements_spec cascade');
  for (const { statement } of schemaStatements(dialect)) {
    if (isDdl(statement.sql)) await dataSource.query(statement.sql);
  }
});

afterAll(async () => {
  await dataSource.query('drop schema statements_spec cascade');
  await dataSource.destroy();
});

it.each([...allStatements(dialect), ...schemaStatements(dialect).filter(({ statement }) => !isDdl(statement.sql))])(
  '$label can be prepared',
  async ({ statement }) => {
    await dataSource.query(`prepare it as ${statement.sql}`);

    await dataSource.query('deallocate it');
  },
);
