/** The error classes of the drivers, which bring no types of their own. */
type WithCode = new (message: string, code: string) => Error;

export const { SqliteError } = require('better-sqlite3') as { SqliteError: WithCode };

export const { DatabaseError } = require('pg') as {
  DatabaseError: new (message: string, length: number, name: string) => Error;
};

/** The first argument is a message, or the error of tedious that is wrapped. */
type Wrapping = new (error: Error | string, code?: string) => Error;

export const mssql = require('mssql') as {
  readonly RequestError: Wrapping;
  readonly ConnectionError: Wrapping;
  readonly TransactionError: Wrapping;
  readonly ISOLATION_LEVEL: Readonly<Record<string, number>>;
};

/** An error of SQL Server, as mssql reports what tedious got from the server. */
export function serverError(number: number, message = `error ${number}`): Error {
  const info = { message, number, state: 1, class: 14, lineNumber: 1 };
  return new mssql.RequestError(Object.assign(new Error(message), { info }), 'EREQUEST');
}
