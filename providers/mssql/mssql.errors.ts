import type { ErrorKind } from '../relational/dialect';

/** Thrown by the statement that takes the schema lock, when another node has kept it for too long. */
export const SCHEMA_LOCK_NOT_GRANTED = 50_222;

/** @see https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors */
const KINDS_OF_NUMBERS: ReadonlyArray<readonly [ErrorKind, readonly number[]]> = [
  ['duplicate', [2601, 2627]],
  // Deadlock victim; update conflicts of row versions; a definition that changed under a statement.
  ['retry', [1205, 2801, 3960, 3961]],
  ['locked', [1222, SCHEMA_LOCK_NOT_GRANTED]],
  // Killed sessions, shutdown, broken transports, fail-over, and Azure's throttling and reconfiguration.
  ['connection', [64, 121, 233, 596, 976, 983, 6005, 10053, 10054, 10060, 10928, 10929, 40197, 40501, 40613]],
  // Too long, out of range, not convertible, null, constraint, too large for a row or an index, malformed JSON.
  ['data', [220, 232, 245, 248, 511, 515, 547, 1946, 2628, 8114, 8115, 8152, 13608, 13609]],
];
const KIND_OF_NUMBER = new Map(KINDS_OF_NUMBERS.flatMap(([kind, numbers]) => numbers.map((number) => [number, kind])));

const LOST = [
  // of tedious and mssql
  'ESOCKET',
  'ECLOSE',
  'ETIMEOUT',
  'EINVALIDSTATE',
  'EINSTLOOKUP',
  'ECONNCLOSED',
  'ENOTOPEN',
  // of Node
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
] as const;
const KIND_OF_CODE = new Map<string, ErrorKind>([
  // The server rolled the transaction back; what made it do so comes with the error and has been looked at before.
  ['EABORT', 'retry'],
  // A parameter that the driver could not encode.
  ['EPARAM', 'data'],
  ...LOST.map((code) => [code, 'connection'] as const),
]);

const CONNECTION_MESSAGE = /Failed to acquire a connection from the pool|ended without ever completing the connection/;

interface DriverError {
  readonly number?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly info?: unknown;
  /** The server refused the login for now, for example while it moves a database. */
  readonly isTransient?: unknown;
  readonly driverError?: unknown;
  readonly originalError?: unknown;
  readonly cause?: unknown;
  /** Of an AggregateError, and of a statement that failed with several errors. */
  readonly errors?: unknown;
  readonly precedingErrors?: unknown;
}

const MOST_ERRORS = 32;

/** TypeORM wraps what mssql wraps around what tedious reports: the number is looked for in all of them, the outermost first. */
export function classifySqlServerError(error: unknown): ErrorKind {
  const errors = unwrapped(error);
  for (const { number } of errors) {
    const kind = KIND_OF_NUMBER.get(Number(number));
    if (kind !== undefined) return kind;
  }
  for (const { code, message, isTransient } of errors) {
    const kind = KIND_OF_CODE.get(String(code));
    if (kind !== undefined) return kind;
    if (isTransient === true || CONNECTION_MESSAGE.test(String(message))) return 'connection';
  }
  return 'other';
}

function unwrapped(error: unknown): readonly DriverError[] {
  const found = new Set<DriverError>();
  const pending = [error];
  while (pending.length > 0 && found.size < MOST_ERRORS) {
    const next = pending.shift();
    if (typeof next !== 'object' || next === null || found.has(next)) continue;
    found.add(next);
    const { driverError, originalError, info, cause, errors, precedingErrors }: DriverError = next;
    pending.push(driverError, originalError, info, cause, ...listOf(errors), ...listOf(precedingErrors));
  }
  return [...found];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
