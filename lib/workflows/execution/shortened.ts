import { storable } from '../../model/failure-text';

const LONGEST = 2048;

/** An error text as a cursor keeps it: what every database can store of it, cut at a whole character and marked as cut. */
export function shortened(text: string): string {
  const kept = storable(text);
  if (kept.length <= LONGEST) return kept;
  const end = LONGEST - 1;
  const last = kept.charCodeAt(end - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return `${kept.slice(0, isHalf ? end - 1 : end)}…`;
}
