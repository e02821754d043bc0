import type { DataSource, QueryRunner } from 'typeorm';
import { type AsyncDriver, LOCK_SLICE, type Session } from '../relational/async-database';
import type { Row, Step } from '../relational/operation';
import type { CompiledStatement, Value } from '../relational/statement';
import { channelOf } from './postgres.channel';
import { statementName } from './postgres.prepared';

/** What Millrace uses of a client of the `pg` package. */
interface PostgresClient {
  readonly processID?: number;
  query(
    text: string | { name?: string; text: string; values?: unknown[]; types?: typeof AS_TEXT },
  ): Promise<{ rows: Row[] }>;
}

/** Values as the server writes them: whoever reads a row knows what its columns are, and makes numbers of what is one. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** Statements go to the driver's own connection, by name: through TypeORM's query method they would be planned anew each time. */
export class PostgresDriver implements AsyncDriver {
  private readonly channel: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    private readonly prepared: boolean,
  ) {
    this.channel = channelOf(schema);
  }

  async acquire(): Promise<PostgresSession> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PostgresClient;
      return new PostgresSession(runner, client, this.channel, this.prepared);
    } catch (error) {
      await runner.release();
      throw error;
    }
  }

  async blockerOf(backend: number): Promise<string | null> {
    const own = await this.acquire();
    try {
      const [row] = await own.ask(
        `select a.pid, a.application_name from unnest(pg_blocking_pids(${backend})) b join pg_stat_activity a on a.pid = b limit 1`,
      );
      return row ? `backend ${String(row['pid'])} (${String(row['application_name']) || 'no application name'})` : null;
    } finally {
      await own.release();
    }
  }
}

class PostgresSession implements Session {
  constructor(
    private readonly runner: QueryRunner,
    private readonly client: PostgresClient,
    private readonly channel: string,
    private readonly prepared: boolean,
  ) {}

  get backend(): number | undefined {
    return this.client.processID;
  }

  async run(statement: CompiledStatement, values: Value[]): Promise<readonly Row[]> {
    const name = this.prepared && statement.name !== '' ? { name: statementName(statement) } : {};
    return (await this.client.query({ ...name, text: statement.sql, values, types: AS_TEXT })).rows;
  }

  async ask(text: string): Promise<readonly Row[]> {
    return (await this.client.query(text)).rows;
  }

  async begin(): Promise<void> {
    await this.client.query(`begin isolation level read committed; set local lock_timeout = ${LOCK_SLICE}`);
  }

  async commit(): Promise<void> {
    await this.client.query('commit');
  }

  async rollback(): Promise<void> {
    await this.client.query('rollback');
  }

  async wake(step: Exclude<Step, { kind: 'query' }>): Promise<void> {
    const { sql, values } = notifyStatement(this.channel, step);
    await this.client.query({ text: sql, values: [...values] });
  }

  async release(): Promise<void> {
    await this.runner.release();
  }
}

/** One NOTIFY per queue, sent with the commit of the transaction that it is part of. */
export function notifyStatement(channel: string, step: Exclude<Step, { kind: 'query' }>) {
  const payloads = step.kind === 'ready' ? step.queues.map((queue) => `r${queue}`) : [`c${step.id}`];
  return {
    sql: 'select pg_notify($1, value) from jsonb_array_elements_text($2::jsonb)',
    values: [channel, JSON.stringify(payloads)] as const,
  };
}
