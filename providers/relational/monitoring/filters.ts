import { decodeCursor, firstIdAt, InvalidCursorError, parseId, type TenantFilter } from '../../../lib/storage';
import type { Value, Values } from '../statement';

/** A condition of a list and the values that it names. */
export interface Filter {
  readonly sql: string;
  readonly values: Values;
}

/** Filters that are given, as one condition and all their values. */
export function allOf(...filters: readonly (Filter | null)[]): { readonly where: string; readonly values: Values } {
  const given = filters.filter((filter) => filter !== null);
  return {
    where: given.length === 0 ? '1 = 1' : given.map(({ sql }) => sql).join(' and '),
    values: Object.assign({}, ...given.map(({ values }) => values)) as Values,
  };
}

/** `column` has this value; nothing for undefined. */
export function equals(column: string, value: Value | undefined): Filter | null {
  if (value === undefined) return null;
  // A parameter for null would have no type of its own, and nothing equals null.
  return value === null
    ? { sql: `${column} is null`, values: {} }
    : { sql: `${column} = :${column}`, values: { [column]: value } };
}

export function ofTenant(tenantId: TenantFilter): Filter | null {
  return equals('tenant_id', tenantId);
}

/**
 * Rows in one of these states; nothing for every state.
 *
 * @param conditions what a row of a state fulfils, spelt so that the state's partial index is found
 */
export function inStates<S extends string>(
  states: readonly S[] | undefined,
  conditions: Readonly<Record<S, string>>,
): Filter | null {
  if (states === undefined || states.length === 0) return null;
  return { sql: `(${[...new Set(states)].map((state) => conditions[state]).join(' or ')})`, values: {} };
}

interface IdRange {
  readonly cursor?: string | null;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
}

/**
 * Rows after the cursor, newest first, and within the dates: an id's time is that of its creation.
 *
 * @throws {InvalidCursorError}
 */
export function inIdRange({ cursor, createdAfter, createdBefore }: IdRange): readonly (Filter | null)[] {
  return [
    cursor == null ? null : { sql: 'id < :after', values: { after: idOf(cursor) } },
    createdAfter ? { sql: 'id >= :createdAfter', values: { createdAfter: firstIdAt(createdAfter) } } : null,
    createdBefore ? { sql: 'id < :createdBefore', values: { createdBefore: firstIdAt(createdBefore) } } : null,
  ];
}

function idOf(cursor: string): string {
  const [id = ''] = decodeCursor(cursor, 1);
  if (parseId(id) !== id) throw new InvalidCursorError(cursor);
  return id;
}
