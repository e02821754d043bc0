import type { DataSource } from 'typeorm';
import { OutcomeUnknownError, type TransactionHandle } from '../../../lib/storage';
import { CALLER_TRANSACTIONS } from '../../../providers/mssql/mssql.calls';
import { SqlServerDriver } from '../../../providers/mssql/mssql.session';
import { AsyncDatabase } from '../../../providers/relational/async-database';
import { CallerTransactions } from '../../../providers/relational/caller-transactions';
import type { Database } from '../../../providers/relational/database';
import { type Operation, query, type Row } from '../../../providers/relational/operation';
import type { Statement, Value } from '../../../providers/relational/statement';
import { mssql, serverError } from '../relational/driver-errors';
import { DIALECTS } from '../relational/all-statements';
import { FakeServer } from './fake-server';

const STORE_ID = '01890000-0000-7000-8000-000000000001';
const OUTSIDE = 'set lock_timeout 500; set deadlock_priority low; set transaction isolation level read committed; ';
const INSIDE = 'set lock_timeout 500; set deadlock_priority low; ';

const touch: Statement = { name: 'touch', text: () => 'update j set state = 1 output inserted.id as id from t as j' };

function* ask(text: string, values: Record<string, Value> = {}): Operation<readonly Row[]> {
  return yield* query({ name: '', text: () => text }, values);
}

async function inTransaction(source: DataSource, run: (handle: TransactionHandle) => Promise<unknown>): Promise<void> {
  await source.transaction('SERIALIZABLE', async (manager) => {
    await run(manager);
  });
}

describe('a session of SQL Server', () => {
  let server: FakeServer;
  let source: DataSource;
  let database: Database;

  beforeEach(async () => {
    server = new FakeServer();
    source = await server.dataSource();
    const dialect = DIALECTS.mssql;
    const callers = new CallerTransactions(dialect, CALLER_TRANSACTIONS, () => STORE_ID, 5000);
    database = new AsyncDatabase(dialect, new SqlServerDriver(source), callers, 1000);
  });

  afterEach(async () => {
    await source.destroy();
  });

  it('declares numbers as bigint and texts as nvarchar of one length, whatever they look like', async () => {
    const values = { a: 1_767_225_600_000, b: 0, c: '2026-01-01T00:00:00Z', d: '7', e: null };

    await database.read(() => ask('select :a, :b, :c, :d, :e', values));

    const [{ sql, inputs } = { sql: '', inputs: [] }] = server.sent;
    expect(sql).toBe(`${OUTSIDE}select @0, @1, @2, @3, @4`);
    expect(inputs).toEqual([
      { type: { name: 'BigInt' }, value: 1_767_225_600_000 },
      { type: { name: 'BigInt' }, value: 0 },
      { type: { name: 'NVarChar', length: 4000 }, value: '2026-01-01T00:00:00Z' },
      { type: { name: 'NVarChar', length: 4000 }, value: '7' },
      { type: { name: 'NVarChar', length: 4000 }, value: null },
    ]);
  });

  it('makes ids what they are in the tables, so that they are looked up by index, and nothing else', async () => {
    const id = '01890000-0000-7000-8000-00000000000a';

    await database.read(() => ask('select 1 where id = :id and queue = :queue or id = :id', { id, queue: `${id}x` }));

    expect(server.sent[0]?.sql).toBe(
      `${OUTSIDE}select 1 where id = cast(@0 as char(36)) and queue = @1 or id = cast(@0 as char(36))`,
    );
  });

  it('leaves the length of a long text to the driver, which makes it nvarchar(max)', async () => {
    const long = 'x'.repeat(4001);

    await database.read(() => ask('select :long', { long }));

    expect(server.sent[0]?.inputs).toEqual([{ type: { name: 'NVarChar' }, value: long }]);
  });

  it('limits the waits of every statement in its own batch, and keeps the isolation level of its transaction', async () => {
    await database.transaction(() => query(touch, {}), { ifUnknown: 'retry' });
    await database.transaction(() => query(touch, {}), { ifUnknown: 'retry', single: true });

    expect(server.sent.map(({ sql, transaction }) => [sql, transaction])).toEqual([
      [INSIDE + touch.text(DIALECTS.mssql), 1],
      [OUTSIDE + touch.text(DIALECTS.mssql), null],
    ]);
    expect(server.transactions).toEqual(['begin 1 READ_COMMITTED', 'commit 1']);
  });

  it('answers the rows of a statement, and none where it gives none, whatever the count of rows says', async () => {
    server.answer = (sql) => (sql.includes('output') ? [{ id: 'a' }] : []);

    const changed = await database.read(() => query(touch, {}));
    const silent = await database.read(() => ask('update t set state = 1'));

    expect([changed, silent]).toEqual([[{ id: 'a' }], []]);
  });

  it('runs a transaction again that the server chose as the victim of a deadlock', async () => {
    const aborted = new mssql.TransactionError('Transaction has been aborted.', 'EABORT');
    const answers = [serverError(1205), [{ id: 'a' }]];
    server.answer = () => answers.shift() ?? [];
    server.onRollback = () => aborted; // the server has rolled it back itself

    const rows = await database.transaction(() => query(touch, {}), { ifUnknown: 'fail' });

    expect(rows).toEqual([{ id: 'a' }]);
    expect(server.transactions).toEqual(['begin 1 READ_COMMITTED', 'rollback 1', 'begin 2 READ_COMMITTED', 'commit 2']);
  });

  it('says what was waited for when a lock is not granted in time', async () => {
    server.answer = () => serverError(1222);

    const waiting = database.transaction(() => query(touch, {}), {
      ifUnknown: 'fail',
      lockTimeout: 0,
      waitsFor: 'key "capture:1"',
    });

    await expect(waiting).rejects.toThrow(/Gave up waiting for key "capture:1"/);
  });

  it('does not guess what became of a commit whose connection was lost', async () => {
    server.onCommit = () => new mssql.TransactionError(Object.assign(new Error('lost'), { code: 'ESOCKET' }));

    const committing = database.transaction(() => query(touch, {}), { ifUnknown: 'fail' });

    await expect(committing).rejects.toThrow(OutcomeUnknownError);
  });

  describe('in a transaction of the application', () => {
    const ledger = { version: 1, min_code_version: 1, store_id: STORE_ID };

    beforeEach(() => {
      server.answer = (sql) => {
        if (sql.includes('object_id')) return [{ found: 1 }];
        return sql.includes('[ledger]') ? [ledger] : [];
      };
    });

    it('works behind a savepoint, waits as long as it may, and changes no setting of the connection', async () => {
      await inTransaction(source, (handle) => database.join(handle, () => ask('select :a', { a: 1 })));

      const texts = server.sent.map(({ sql }) => sql);
      expect(texts[0]).toBe('save transaction millrace');
      expect(texts.slice(1).every((sql) => sql.startsWith('set lock_timeout 5000; select '))).toBe(true);
      expect(server.sent.at(-1)?.inputs).toEqual([{ type: { name: 'BigInt' }, value: 1 }]);
      expect(server.sent.every(({ transaction }) => transaction === 1)).toBe(true);
      expect(server.transactions).toEqual(['begin 1 SERIALIZABLE', 'commit 1']);
    });

    it('goes back to the savepoint when it fails, and leaves the transaction usable', async () => {
      const healthy = server.answer;
      server.answer = (sql) => (sql.includes('from broken') ? serverError(8152) : healthy(sql));

      await inTransaction(source, async (handle) => {
        await expect(database.join(handle, () => ask('select 1 from broken'))).rejects.toThrow('error 8152');
      });

      expect(server.sent.at(-1)?.sql).toBe('rollback transaction millrace');
      expect(server.transactions).toEqual(['begin 1 SERIALIZABLE', 'commit 1']);
    });

    it('refuses a manager that has no transaction', async () => {
      const joining = database.join(source.manager, () => ask('select 1'));

      await expect(joining).rejects.toThrow(/not open/);
      expect(server.sent).toEqual([]);
    });
  });
});
