import type { Milliseconds } from '../../lib/storage';
import type { CallerTransactionSql } from '../relational/caller-transactions';
import type { Value } from '../relational/statement';

const LONGEST_VARIABLE_TEXT = 4000; // UTF-16 units; above it a text is nvarchar(max)

/** A parameter as TypeORM's `MssqlParameter` describes it, without loading TypeORM for it. */
export interface TypedParameter {
  readonly '@instanceof': symbol;
  readonly value: Value;
  readonly type: 'bigint' | 'nvarchar';
  readonly params: readonly number[];
}

/** A value with its type: left to itself the driver declares a text by its length, and each length is a statement planned anew. */
export function typed(value: Value): TypedParameter {
  const isNumber = typeof value === 'number';
  const isLong = typeof value === 'string' && value.length > LONGEST_VARIABLE_TEXT;
  return {
    '@instanceof': Symbol.for('MssqlParameter'),
    value,
    type: isNumber ? 'bigint' : 'nvarchar',
    params: isNumber || isLong ? [] : [LONGEST_VARIABLE_TEXT],
  };
}

/** Ids are char in tables, and a char column is not searched by its index for a text that is nvarchar. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A statement and its values as the driver takes them, see {@link typed}. */
export interface Call {
  readonly sql: string;
  readonly values: TypedParameter[];
}

/** TypeORM sends no text as char, so what looks like an id is made one by the statement. */
export function callOf(sql: string, values: readonly Value[]): Call {
  const isId = values.map((value) => typeof value === 'string' && ID.test(value));
  return {
    sql: isId.includes(true)
      ? sql.replaceAll(/@(\d+)\b/g, (marker, index) => (isId[Number(index)] ? `cast(${marker} as char(36))` : marker))
      : sql,
    values: values.map(typed),
  };
}

/**
 * Limits how long a statement waits for a lock. The limit is part of the statement's batch: the driver sends each through
 * sp_executesql, at whose end the server takes every SET back, so neither can one be set before nor does one stay behind.
 */
export function boundedBy(timeout: Milliseconds, sql: string): string {
  return `set lock_timeout ${Math.max(1, Math.round(timeout))}; ${sql}`;
}

/** Between Millrace and an application it is Millrace that a deadlock ends, and that tries again. */
export function yieldingInDeadlocks(sql: string): string {
  return `set deadlock_priority low; ${sql}`;
}

/** A connection of a pool keeps the isolation level of whoever had it before, and READPAST is refused at some. */
export function readCommitted(sql: string): string {
  return `set transaction isolation level read committed; ${sql}`;
}

export const CALLER_TRANSACTIONS: CallerTransactionSql = {
  savepoint: 'save transaction millrace',
  release: null,
  rollback: 'rollback transaction millrace',
  limitWaits: () => null,
  restoreWaits: () => '',
  wake: () => null,
  adapt(statement, given, timeout) {
    const { sql, values } = callOf(statement.sql, given);
    return { sql: boundedBy(timeout, sql), values };
  },
};
