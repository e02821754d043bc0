import { describeStorageConformance } from 'nestjs-millrace/conformance';
import { sqliteHarness } from './stores/sqlite';

jest.setTimeout(30_000);

describeStorageConformance('sqlite', { describe, it }, sqliteHarness);
