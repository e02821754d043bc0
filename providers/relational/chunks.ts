/** UTF-16 units of one JSON parameter. */
export const LARGEST_STATEMENT = 8 * 1024 * 1024;

/** Joins JSON objects to JSON arrays that are small enough for one statement each. */
export function chunksOf(objects: readonly string[], largest = LARGEST_STATEMENT): string[] {
  const chunks: string[] = [];
  let start = 0;
  let size = 0;
  objects.forEach((object, index) => {
    if (index > start && size + object.length > largest) {
      chunks.push(`[${objects.slice(start, index).join(',')}]`);
      start = index;
      size = 0;
    }
    size += object.length + 1;
  });
  if (objects.length > start) chunks.push(`[${objects.slice(start).join(',')}]`);
  return chunks;
}
