import { describeStorageConformance } from 'nestjs-millrace/conformance';
import { BabelfishFacts, isBabelfish } from './stores/babelfish';
import { SQL_SERVER } from './stores/mssql';
import { ServerDatabase } from './stores/server';

jest.setTimeout(30_000);

// Without a server these facts are skipped, and reported so: never as passed.
const url = process.env['MILLRACE_TEST_MSSQL'];
const database = new ServerDatabase(SQL_SERVER, url ?? '');
const facts = new BabelfishFacts(url !== undefined && isBabelfish(url));
afterAll(() => database.close());

describeStorageConformance('mssql', { describe: url ? describe : describe.skip, it: facts.it }, (clock) =>
  database.harness(clock),
);
facts.report();
