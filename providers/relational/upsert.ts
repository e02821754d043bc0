import { type Operation, query } from './operation';
import type { Statement, Values } from './statement';

/** Updates a row, or inserts it where there is none, whichever fits by the time that it is done. */
export function* upsert(update: Statement, insertUnlessTaken: Statement, values: Values): Operation<void> {
  // Each further round means that somebody has stored and removed the row in between.
  while (!(yield* givesRows(update, values)) && !(yield* givesRows(insertUnlessTaken, values)));
}

/** Runs a statement and tells whether it gave rows. */
export function* givesRows(statement: Statement, values: Values): Operation<boolean> {
  return (yield* query(statement, values)).length > 0;
}
