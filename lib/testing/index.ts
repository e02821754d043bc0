// The entry `nestjs-millrace/testing`.
export { JobFailedError, TooManyExecutionsError } from './testing.errors';
export { MillraceTestHost, type RunOptions, type TestHostOptions } from './test-host';
export { FakeClock } from '../model/time';
