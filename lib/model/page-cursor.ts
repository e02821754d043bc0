import { MillraceError } from './errors';

/** Thrown for a page cursor that no page handed out. A walk is never silently restarted from its beginning. */
export class InvalidCursorError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_CURSOR';

  constructor(readonly cursor: string) {
    super(`"${cursor}" is not the cursor of a page. Pass nextCursor of the previous page as it is, or null.`);
  }
}

const VERSION = '1';

/** Packs the sort key of a page's last row into opaque text. */
export function encodeCursor(...key: readonly string[]): string {
  return Buffer.from(JSON.stringify([VERSION, ...key]), 'utf8').toString('base64url');
}

/**
 * Unpacks a cursor made by {@link encodeCursor} for a key of `length` parts.
 *
 * @throws {InvalidCursorError} for any other text
 */
export function decodeCursor(cursor: string, length: number): readonly string[] {
  const key = parse(cursor);
  if (!Array.isArray(key) || key.length !== length + 1 || key[0] !== VERSION) throw new InvalidCursorError(cursor);
  const parts: unknown[] = key.slice(1);
  if (!parts.every((part) => typeof part === 'string')) throw new InvalidCursorError(cursor);
  return parts;
}

function parse(cursor: string): unknown {
  if (!/^[\w-]+$/.test(cursor)) return null;
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}
