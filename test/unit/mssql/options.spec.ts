import { DataSource } from 'typeorm';
import { InvalidArgumentError } from '../../../lib/storage';
import { sqlServerMigrations, sqlServerStorage, type SqlServerStorageOptions } from '../../../providers/mssql';
import { dataSourceOptions } from '../../../providers/mssql/mssql.connection';
import { resolveSqlServerOptions } from '../../../providers/mssql/mssql.options';

const url = 'mssql://sa:secret@localhost:1433/shop';

function pool(options: SqlServerStorageOptions) {
  const { source } = resolveSqlServerOptions(options);
  if ('dataSource' in source) throw new Error('not a pool');
  return source;
}

describe('the options of sqlServerStorage', () => {
  it('have defaults but for the address', () => {
    expect(resolveSqlServerOptions({ url })).toEqual({
      source: { url, poolSize: 10, options: {}, extra: {} },
      schema: 'millrace',
      autoCreateSchema: true,
    });
  });

  it('take driver options from the query of the address, and those that are given win', () => {
    const address = `${url}?encrypt=true&trustServerCertificate=true&connectTimeout=3000&appName=shop`;

    const { url: plain, options } = pool({ url: address, options: { encrypt: false } });

    expect(plain).toBe(url);
    expect(options).toEqual({ encrypt: false, trustServerCertificate: true, connectTimeout: 3000, appName: 'shop' });
  });

  it('leave a question mark in a password alone', () => {
    const address = 'mssql://sa:what?now@localhost/shop?encrypt=false';

    expect(pool({ url: address })).toMatchObject({
      url: 'mssql://sa:what?now@localhost/shop',
      options: { encrypt: false },
    });
  });

  it('reach the driver', () => {
    const resolved = pool({ url, poolSize: 4, options: { encrypt: false }, extra: { requestTimeout: 60_000 } });

    expect(dataSourceOptions(resolved)).toMatchObject({
      type: 'mssql',
      url,
      pool: { max: 4 },
      options: { appName: 'millrace', encrypt: false },
      extra: { requestTimeout: 60_000, validateConnection: 'socket' },
    });
  });

  it.each([
    ['an empty address', { url: '' }, /url must be an address such as 'mssql:/],
    ['a blank address', { url: '   ' }, /url must be an address/],
    ['no address', {} as never, /got 'undefined'/],
    ['the address of another database', { url: 'postgres://localhost/shop' }, /got 'postgres:\/\/localhost\/shop'/],
    ['no connections', { url, poolSize: 0 }, /poolSize must be a whole number of 1 or more, got 0/],
    ['half a connection', { url, poolSize: 1.5 }, /got 1\.5/],
    ['a schema that needs quotes', { url, schema: 'my-jobs' }, /schema must be .* got 'my-jobs'/],
    ['a schema in capitals', { url, schema: 'Millrace' }, /got 'Millrace'/],
    ['a schema that is too long', { url, schema: 'm'.repeat(55) }, /54/],
    ['a data source that is none', { dataSource: undefined as never }, /data source of type mssql, got nothing/],
    [
      'a data source of another database',
      { dataSource: new DataSource({ type: 'postgres', url: 'postgres://localhost/shop' }) },
      /of type mssql, got postgres/,
    ],
  ] satisfies [string, SqlServerStorageOptions, RegExp][])('refuse %s', (_, options, message) => {
    expect(() => sqlServerStorage(options)).toThrow(InvalidArgumentError);
    expect(() => sqlServerStorage(options)).toThrow(message);
  });

  it.each(['Server=db;User Id=sa;Password=secret;', 'sqlsrv://sa:secret@db/shop'])(
    'never repeat a password: %s',
    (address) => {
      const refuse = () => sqlServerStorage({ url: address });

      expect(refuse).toThrow(/url must be an address/);
      expect(refuse).not.toThrow(/secret/);
    },
  );

  it('name the schema of the migrations, and check it', () => {
    expect(sqlServerMigrations({ schema: 'jobs' }).map((migration) => new migration().name)).toEqual([
      expect.stringMatching(/^MillraceInitial\d{13}$/),
    ]);
    expect(() => sqlServerMigrations({ schema: 'a b' })).toThrow(/got 'a b'/);
  });
});
