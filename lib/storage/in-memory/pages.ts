import { type Page, type PageRequest, pageSize } from '../../model/monitoring';
import { encodeCursor } from '../../model/page-cursor';

/** How a list is walked. */
export interface Walk<R, T> {
  /** Negative when the first comes earlier in the list; never 0 for two rows. */
  readonly compare: (a: R, b: R) => number;
  /** What a cursor holds of a page's last row. */
  readonly key: (row: R) => readonly string[];
  /** What a page shows of a row. */
  readonly summary: (row: R) => T;
}

/** The first page of these rows: those after the request's cursor, in any order. */
export function pageOf<R, T>(rows: Iterable<R>, request: PageRequest, walk: Walk<R, T>): Page<T> {
  const size = pageSize(request.limit);
  const first = firstOf(rows, size + 1, walk.compare);
  const items = first.slice(0, size);
  const last = items.at(-1);
  const nextCursor = last !== undefined && first.length > size ? encodeCursor(...walk.key(last)) : null;
  return { items: items.map(walk.summary), nextCursor };
}

/** The first `count` rows in order. Holds a few times as many at once, however many there are. */
function firstOf<R>(rows: Iterable<R>, count: number, compare: (a: R, b: R) => number): R[] {
  let kept: R[] = [];
  for (const row of rows) {
    kept.push(row);
    if (kept.length === 8 * count) kept = kept.toSorted(compare).slice(0, count);
  }
  return kept.toSorted(compare).slice(0, count);
}
