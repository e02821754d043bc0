import { describeStorageConformance } from 'nestjs-millrace/conformance';
import { POSTGRES } from './stores/postgres';
import { ServerDatabase } from './stores/server';

jest.setTimeout(30_000);

const database = new ServerDatabase(POSTGRES, process.env['MILLRACE_TEST_POSTGRES']!);
afterAll(() => database.close());

describeStorageConformance('postgres', { describe, it }, (clock) => database.harness(clock));
