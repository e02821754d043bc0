import { createServer } from 'node:net';
import { conformanceEnvironment } from '../../../lib/conformance/harness';
import { FakeClock, type Storage } from '../../../lib/storage';
import { sqlServerStorage } from '../../../providers/mssql';
import { classifySqlServerError } from '../../../providers/mssql/mssql.errors';
import { FakeServer } from './fake-server';

const STORE_ID = '01890000-0000-7000-8000-000000000001';
const GOOD = {
  edition: 3,
  version: '16.0.4125.3',
  banner: 'Microsoft SQL Server 2022',
  compatibility_level: 160,
  row_versions: true,
  name: 'shop',
};

describe('opening a store in SQL Server', () => {
  let server: FakeServer;
  let warnings: string[];

  beforeEach(() => {
    server = new FakeServer();
    warnings = [];
  });

  async function storeOn(described: Partial<typeof GOOD>, hasSchema = true): Promise<Storage> {
    let exists = hasSchema;
    server.answer = (sql) => {
      if (sql.includes('is_read_committed_snapshot_on')) return [{ ...GOOD, ...described }];
      if (sql.includes('as version')) return [{ version: GOOD.version }];
      if (sql.includes('insert into [millrace].[ledger]')) exists = true;
      if (sql.includes('object_id')) return exists ? [{ found: 1 }] : [];
      if (sql.includes('from [millrace].[ledger]')) return [{ version: 1, min_code_version: 1, store_id: STORE_ID }];
      return [];
    };
    const logger = { ...conformanceEnvironment(new FakeClock()).logger, warn: (text: string) => warnings.push(text) };
    const dataSource = await server.dataSource();
    return sqlServerStorage({ dataSource }).create(conformanceEnvironment(new FakeClock(), { logger }));
  }

  it('creates what is missing in one transaction, behind the schema lock', async () => {
    const storage = await storeOn({}, false);

    await storage.open();

    const created = server.sent.filter(({ transaction }) => transaction === 1).map(({ sql }) => sql);
    expect(created[0]).toContain("exec @granted = sp_getapplock @Resource = 'millrace schema millrace'");
    expect(created.find((sql) => sql.includes('create schema'))).toContain("exec('create schema [millrace]')");
    expect(created.filter((sql) => sql.includes('create table'))).not.toEqual([]);
    expect(server.transactions).toEqual(['begin 1 READ_COMMITTED', 'commit 1']);
    expect(warnings).toEqual([]);
  });

  it('fails as a lost connection where no server listens', async () => {
    const url = `mssql://sa:secret@127.0.0.1:${await unusedPort()}/shop?encrypt=false`;
    const storage = sqlServerStorage({ url }).create(conformanceEnvironment(new FakeClock()));

    const error: unknown = await storage.open().catch((thrown: unknown) => thrown);

    expect(classifySqlServerError(error)).toBe('connection');
  });

  it('leaves the data source of the application open', async () => {
    const storage = await storeOn({});
    await storage.open();

    await storage.close();

    expect(server.transactions).not.toContain('closed');
  });

  it.each([
    ['SQL Server 2014', { version: '12.0.6024.0' }, /version 12\.0\.6024\.0; Millrace needs 13\.0\.4001 \(2016 SP1\)/],
    ['SQL Server 2016 without its service pack', { version: '13.0.1601.5' }, /2016 SP1/],
    [
      'a database that behaves like an older server',
      { compatibility_level: 120 },
      /ALTER DATABASE \[shop\] SET COMPATIBILITY_LEVEL = 130/,
    ],
    ['such a database in Azure', { edition: 5, version: '12.0.2000.8', compatibility_level: 100 }, /level 100/],
  ])('refuses %s', async (_, described, message) => {
    const storage = await storeOn(described);

    await expect(storage.open()).rejects.toThrow(message);
  });

  it.each([
    ['SQL Server 2016 SP1', { version: '13.0.4001.0', compatibility_level: 130 }],
    ['Azure SQL, whose version tells nothing', { edition: 5, version: '12.0.2000.8' }],
    [
      'Babelfish, which has no compatibility levels',
      {
        version: '12.0.2000.8',
        banner: 'Babelfish for PostgreSQL with SQL Server Compatibility',
        compatibility_level: 0,
      },
    ],
  ])('takes %s', async (_, described) => {
    const storage = await storeOn(described);

    await expect(storage.open()).resolves.toBeUndefined();
  });

  it('warns of a database in which reading waits for writers', async () => {
    const storage = await storeOn({ row_versions: false });

    await storage.open();

    expect(warnings).toEqual([expect.stringContaining('ALTER DATABASE [shop] SET READ_COMMITTED_SNAPSHOT ON')]);
  });
});

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port');
  return address.port;
}
