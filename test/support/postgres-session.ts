interface PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
  end(): Promise<void>;
}

const { Client } = require('pg') as { Client: new (config: object) => PostgresClient };

/** The server that the test set-up has started, or was given. */
export function postgresUrl(): string {
  const url = process.env['MILLRACE_TEST_POSTGRES'];
  if (url === undefined)
    throw new Error('MILLRACE_TEST_POSTGRES is not set: the set-up of the integration tests sets it.');
  return url;
}

/** A session of the test's own, beside everything that Millrace does. */
export class PostgresSession implements AsyncDisposable {
  private constructor(private readonly client: PostgresClient) {}

  static async open(url = postgresUrl()): Promise<PostgresSession> {
    const client = new Client({ connectionString: url, application_name: 'test session' });
    client.on('error', () => undefined); // a test may end the session from the server's side
    await client.connect();
    return new PostgresSession(client);
  }

  async query<Row extends object = Record<string, unknown>>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.client.query(sql, values)).rows as Row[];
  }

  /** Number of the server process behind this session. */
  async backend(): Promise<number> {
    const [row] = await this.query<{ pid: number }>('select pg_backend_pid() as pid');
    return row!.pid;
  }

  /** Ends, from the server's side, the sessions that `where` picks from pg_stat_activity. Answers how many. */
  async terminate(where: string, values: unknown[] = []): Promise<number> {
    const rows = await this.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and ${where}`,
      values,
    );
    return rows.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}
