import { encodeCursor, type Page } from '../../../lib/storage';
import type { Row } from '../operation';

/** A page of rows of which one more than `size` was asked for. */
export function pageOf<T>(
  rows: readonly Row[],
  size: number,
  itemOf: (row: Row) => T,
  keyOf: (item: T) => readonly string[],
): Page<T> {
  const items = rows.slice(0, size).map(itemOf);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > size && last !== undefined ? encodeCursor(...keyOf(last)) : null };
}
