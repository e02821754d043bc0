import type { JobId } from '../../lib/storage';
import type { Operation, Row, Step } from './operation';

/** Runs an operation without giving up control once: no other code of the process runs before it has ended. */
export function runSync<T>(operation: Operation<T>, run: (step: Step) => readonly Row[]): T {
  let next = operation.next([]);
  while (!next.done) {
    let rows: readonly Row[];
    try {
      rows = run(next.value);
    } catch (error) {
      next = operation.throw(error);
      continue;
    }
    next = operation.next(rows);
  }
  return next.value;
}

/** Runs an operation with an await for each statement. */
export async function runAsync<T>(operation: Operation<T>, run: (step: Step) => Promise<readonly Row[]>): Promise<T> {
  let next = operation.next([]);
  while (!next.done) {
    let rows: readonly Row[];
    try {
      rows = await run(next.value);
    } catch (error) {
      next = operation.throw(error);
      continue;
    }
    next = operation.next(rows);
  }
  return next.value;
}

/** Wake-ups that an operation asked for, held back until its commit. */
export class HeldSignals {
  private readonly queues = new Set<string>();
  private readonly cancelled: JobId[] = [];

  add(step: Exclude<Step, { kind: 'query' }>): void {
    if (step.kind === 'ready') for (const queue of step.queues) this.queues.add(queue);
    else this.cancelled.push(step.id);
  }

  publish(signals: { ready(queue: string): void; cancel(id: JobId): void }): void {
    for (const queue of this.queues) signals.ready(queue);
    for (const id of this.cancelled) signals.cancel(id);
  }
}
