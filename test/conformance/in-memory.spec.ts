import { describeStorageConformance } from 'nestjs-millrace/conformance';
import { inMemoryHarness } from './stores/in-memory';

jest.setTimeout(30_000);

describeStorageConformance('in-memory', { describe, it }, inMemoryHarness);
