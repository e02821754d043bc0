import type { Page } from '../model/monitoring';
import { rejectsWith } from './expectations';

type Fetch = (cursor: string | null) => Promise<Page<{ readonly id: string }>>;

/** Walks a list to its end, and answers the ids page by page. */
export async function pagesOf(fetch: Fetch, from: string | null = null): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor = from;
  do {
    const page = await fetch(cursor);
    pages.push(idsOf(page.items));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return pages;
}

/** Expects every text that no page hands out to be refused: none of them may restart the walk. */
export async function refusesUndecodableCursors(fetch: Fetch): Promise<void> {
  for (const cursor of ['not a cursor', 'æøå-日本', '%2F%2F%25', ' ', 'x', '', 'bm90IGEgY3Vyc29y']) {
    await rejectsWith('MILLRACE_INVALID_CURSOR', fetch(cursor));
  }
}

export function idsOf(items: readonly { readonly id: string }[]): string[] {
  return items.map(({ id }) => id);
}
