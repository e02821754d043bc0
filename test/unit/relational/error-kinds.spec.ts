import { QueryFailedError } from 'typeorm';
import { classifySqlServerError } from '../../../providers/mssql/mssql.errors';
import { classifyPostgresError } from '../../../providers/postgres/postgres.dialect';
import { classifySqliteError } from '../../../providers/sqlite/sqlite.dialect';
import { DatabaseError, mssql, serverError, SqliteError } from './driver-errors';

/** As TypeORM throws it. */
const failed = (driverError: Error) => new QueryFailedError('select 1', [], driverError);

const withCode = (code: string, message = 'message') => Object.assign(new Error(message), { code });

const ofServer = (code: string) => Object.assign(new DatabaseError('message', 7, 'error'), { code });

const ofConnection = (code: string): Error => new mssql.ConnectionError(withCode(code));

describe('errors of PostgreSQL', () => {
  it.each([
    ['23505', 'duplicate'],
    ['40001', 'retry'],
    ['40P01', 'retry'],
    ['0A000', 'retry'],
    ['55P03', 'locked'],
    ['57P01', 'connection'],
    ['08006', 'connection'],
    ['22P05', 'data'],
    ['22001', 'data'],
    ['23502', 'data'],
    ['54000', 'data'],
    ['42P01', 'other'],
    ['53300', 'other'],
  ])('%s is %s, bare and wrapped', (code, kind) => {
    expect(classifyPostgresError(ofServer(code))).toBe(kind);
    expect(classifyPostgresError(failed(ofServer(code)))).toBe(kind);
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT'])('%s is a lost connection', (code) => {
    expect(classifyPostgresError(withCode(code))).toBe('connection');
  });

  it.each(['Connection terminated unexpectedly', 'Client has encountered a connection error and is not queryable'])(
    '"%s" is a lost connection',
    (message) => {
      expect(classifyPostgresError(new Error(message))).toBe('connection');
    },
  );
});

describe('errors of SQLite', () => {
  it.each([
    ['SQLITE_CONSTRAINT_UNIQUE', 'duplicate'],
    ['SQLITE_CONSTRAINT_PRIMARYKEY', 'duplicate'],
    ['SQLITE_BUSY', 'retry'],
    ['SQLITE_BUSY_SNAPSHOT', 'retry'],
    ['SQLITE_LOCKED_SHAREDCACHE', 'retry'],
    ['SQLITE_CONSTRAINT_NOTNULL', 'data'],
    ['SQLITE_TOOBIG', 'data'],
    ['SQLITE_CORRUPT', 'other'],
  ])('%s is %s, bare and wrapped', (code, kind) => {
    const error = new SqliteError('message', code);

    expect(classifySqliteError(error)).toBe(kind);
    expect(classifySqliteError(failed(error))).toBe(kind);
  });

  it('tells a duplicate by its message where the driver has no extended codes', () => {
    const error = withCode('SQLITE_CONSTRAINT', 'SQLITE_CONSTRAINT: UNIQUE constraint failed: millrace_jobs.id');

    expect(classifySqliteError(error)).toBe('duplicate');
  });
});

describe('errors of SQL Server', () => {
  it.each([
    [2601, 'duplicate'],
    [2627, 'duplicate'],
    [1205, 'retry'],
    [3960, 'retry'],
    [1222, 'locked'],
    [50222, 'locked'],
    [596, 'connection'],
    [10054, 'connection'],
    [40613, 'connection'],
    [8152, 'data'],
    [2628, 'data'],
    [245, 'data'],
    [8114, 'data'],
    [515, 'data'],
    [1946, 'data'],
    [13609, 'data'],
    [208, 'other'],
    [50000, 'other'],
  ])('%d is %s, bare, wrapped, and at the end of a transaction', (number, kind) => {
    const ofTransaction = new mssql.TransactionError(serverError(number));

    expect(classifySqlServerError(serverError(number))).toBe(kind);
    expect(classifySqlServerError(failed(serverError(number)))).toBe(kind);
    expect(classifySqlServerError(ofTransaction)).toBe(kind);
  });

  it.each(['ESOCKET', 'ECONNCLOSED', 'ETIMEOUT', 'ECLOSE', 'EINVALIDSTATE', 'ENOTOPEN', 'ECONNRESET'])(
    '%s is a lost connection',
    (code) => {
      expect(classifySqlServerError(ofConnection(code))).toBe('connection');
      expect(classifySqlServerError(failed(ofConnection(code)))).toBe('connection');
    },
  );

  it('finds the number among several errors of one statement', () => {
    const last = Object.assign(serverError(3621), { precedingErrors: [serverError(2627)] });

    expect(classifySqlServerError(failed(last))).toBe('duplicate');
    expect(classifySqlServerError(failed(new AggregateError([serverError(8134), serverError(1205)])))).toBe('retry');
  });

  it('takes a transaction that the server rolled back for what made it do so', () => {
    const aborted = new mssql.TransactionError('Transaction has been aborted.', 'EABORT');
    const becauseOfData = Object.assign(new mssql.TransactionError('Transaction has been aborted.', 'EABORT'), {
      originalError: serverError(8152),
    });

    expect(classifySqlServerError(aborted)).toBe('retry');
    expect(classifySqlServerError(becauseOfData)).toBe('data');
  });

  it('takes a refused login for a mistake, and one refused for now for a lost connection', () => {
    const transient = Object.assign(withCode('ELOGIN', 'Database is not currently available.'), { isTransient: true });

    expect(classifySqlServerError(ofConnection('ELOGIN'))).toBe('other');
    expect(classifySqlServerError(new mssql.ConnectionError(transient))).toBe('connection');
  });

  it('takes an exhausted pool for a lost connection', () => {
    const error = new Error('Failed to acquire a connection from the pool: operation timed out for an unknown reason');

    expect(classifySqlServerError(error)).toBe('connection');
  });

  it('takes a value that the driver cannot encode for bad data', () => {
    expect(classifySqlServerError(failed(withCode('EPARAM', "Validation failed for parameter '0'.")))).toBe('data');
  });
});

it.each([
  ['postgres', classifyPostgresError],
  ['sqlite', classifySqliteError],
  ['mssql', classifySqlServerError],
])('what is no error of %s is none that it knows', (_, classify) => {
  const circular: { cause?: unknown } = {};
  circular.cause = circular;

  for (const thrown of [null, undefined, 'text', 7, {}, new Error('of the application'), circular]) {
    expect(classify(thrown)).toBe('other');
  }
});
