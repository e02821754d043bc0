import type { JobId } from '../../lib/storage';
import type { Statement, Values } from './statement';

export type Row = Readonly<Record<string, unknown>>;

/** What an operation asks its runner for. */
export type Step =
  | { readonly kind: 'query'; readonly statement: Statement; readonly values: Values }
  /** Tell workers, once this has been committed, that these queues have work. */
  | { readonly kind: 'ready'; readonly queues: readonly string[] }
  /** Tell the node that runs this job, once this has been committed, that it is asked to stop. */
  | { readonly kind: 'cancel'; readonly id: JobId };

/**
 * A storage operation: it says which statements to run and decides on their rows, and a runner executes it, with awaits
 * between the statements or, on a synchronous driver, without.
 */
export type Operation<T> = Generator<Step, T, readonly Row[]>;

/** Runs a statement and answers its rows. */
export function* query(statement: Statement, values: Values): Operation<readonly Row[]> {
  return yield { kind: 'query', statement, values };
}

/** Wakes the workers of these queues after the commit. */
export function* signalReady(queues: Iterable<string>): Operation<void> {
  const distinct = [...new Set(queues)];
  if (distinct.length > 0) yield { kind: 'ready', queues: distinct };
}

export function* signalCancel(id: JobId): Operation<void> {
  yield { kind: 'cancel', id };
}
