import { DataSource } from 'typeorm';
import { mssql } from '../relational/driver-errors';

type Rows = readonly Readonly<Record<string, unknown>>[];
type Input = {
  readonly type: { readonly name: string; readonly length?: number } | undefined;
  readonly value: unknown;
};

export interface Sent {
  readonly sql: string;
  readonly inputs: readonly Input[];
  /** Number of the transaction, from 1; null outside of one. */
  readonly transaction: number | null;
}

/**
 * A server in place of the `mssql` package: it notes what TypeORM sends to it, and answers what a test tells it to.
 * Stands in for no behaviour of SQL Server.
 */
export class FakeServer {
  readonly sent: Sent[] = [];
  /** BEGIN with its isolation level, COMMIT and ROLLBACK, with the number of the transaction. */
  readonly transactions: string[] = [];
  readonly pools: object[] = [];
  answer: (sql: string) => Rows | Error = () => [];
  onCommit: () => Error | null = () => null;
  onRollback: () => Error | null = () => null;

  async dataSource(options: Record<string, unknown> = {}): Promise<DataSource> {
    return new DataSource({
      type: 'mssql',
      url: 'mssql://u:p@localhost/d',
      ...options,
      driver: this.driver(),
    }).initialize();
  }

  /** What `require('mssql')` gives, as far as TypeORM uses it. */
  driver(): object {
    // oxlint-disable-next-line typescript/no-this-alias -- the classes below have a `this` of their own
    const server = this;
    let begun = 0;

    class Transaction {
      readonly number = ++begun;
      begin(level: number, done: (error: Error | null) => void): void {
        const [name] = Object.entries(mssql.ISOLATION_LEVEL).find(([, value]) => value === level) ?? ['default'];
        server.transactions.push(`begin ${this.number} ${name}`);
        done(null);
      }
      commit(done: (error: Error | null) => void): void {
        server.transactions.push(`commit ${this.number}`);
        done(server.onCommit());
      }
      rollback(done: (error: Error | null) => void): void {
        server.transactions.push(`rollback ${this.number}`);
        done(server.onRollback());
      }
    }

    class ConnectionPool {
      constructor(config: object) {
        server.pools.push(config);
      }
      on(): void {}
      connect(done: (error: Error | null) => void): this {
        queueMicrotask(() => done(null));
        return this;
      }
      close(done: (error: Error | null) => void): void {
        server.transactions.push('closed');
        done(null);
      }
      transaction(): Transaction {
        return new Transaction();
      }
    }

    class Request {
      private readonly inputs: Input[] = [];
      constructor(private readonly parent: Transaction | ConnectionPool) {}
      input(_name: string, ...[type, value]: [Input['type'], unknown] | [unknown]): void {
        this.inputs.push(arguments.length === 3 ? { type: described(type), value } : { type: undefined, value: type });
      }
      async query(sql: string): Promise<{ recordset?: Rows; rowsAffected: number[] }> {
        if (sql.startsWith('SELECT DB_NAME()')) return { recordset: [{ db_name: 'd' }], rowsAffected: [1] };
        if (sql.startsWith('SELECT SCHEMA_NAME()')) return { recordset: [{ schema_name: 'dbo' }], rowsAffected: [1] };
        const transaction = this.parent instanceof Transaction ? this.parent.number : null;
        server.sent.push({ sql, inputs: this.inputs, transaction });
        const answer = server.answer(sql);
        if (answer instanceof Error) throw answer;
        return answer.length === 0 ? { rowsAffected: [3] } : { recordset: answer, rowsAffected: [answer.length, 3] };
      }
    }

    return { ...mssql, ConnectionPool, Request };
  }
}

/** A type is a function, or what it gives when it is called with a length. */
function described(type: unknown): Input['type'] {
  if (typeof type === 'function') return { name: type.name };
  const { type: base, length } = type as { type: { name: string }; length?: number };
  return { name: base.name, ...(length !== undefined && { length }) };
}
