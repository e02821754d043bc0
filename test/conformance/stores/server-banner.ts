import { sqlServerDataSource } from '../../support/sql-server';

// Writes what the SQL Server of the tests says of itself: which facts there are is decided before any can ask.

async function main(): Promise<void> {
  const server = await sqlServerDataSource(process.env['MILLRACE_TEST_MSSQL']!).initialize();
  const [row] = await server.query<{ banner: string }[]>('select @@version as banner');
  await server.destroy();
  process.stdout.write(row!.banner);
}

void main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
