import type { QueueRecord } from '../../lib/storage';
import { insertRows } from './insert-rows';
import { type Operation, query, signalReady } from './operation';
import { queueOf } from './rows';
import type { Statement } from './statement';
import { givesRows, upsert } from './upsert';

const COLUMNS = ['name', 'paused'] as const;

export const queueStatements = {
  update: {
    name: 'update_queue',
    text: (d) =>
      d.update({ table: 'queues', as: 'q', set: 'paused = :paused', where: 'q.name = :name', returning: ['name'] }),
  },
  insertUnlessTaken: {
    name: 'insert_queue',
    text: (d) =>
      insertRows(d, {
        table: 'queues',
        columns: COLUMNS,
        rows: ':queue',
        unlessTaken: 'name',
        returning: ['name'],
      }),
  },
  all: {
    name: 'all_queues',
    text: (d) => d.select({ columns: COLUMNS.join(', '), table: 'queues', where: '1 = 1', orderBy: 'name' }),
  },
  paused: {
    name: 'paused_queues',
    text: (d) => d.select({ columns: 'name', table: 'queues', where: 'paused = 1', orderBy: 'name' }),
  },
} satisfies Record<string, Statement>;

/** Pauses or resumes a queue for every node. See IJobStorage.setQueuePaused. */
export function* setQueuePaused(name: string, paused: boolean): Operation<void> {
  if (paused) {
    const queue = JSON.stringify([{ name, paused: 1 }]);
    yield* upsert(queueStatements.update, queueStatements.insertUnlessTaken, { name, paused: 1, queue });
  } else if (yield* givesRows(queueStatements.update, { name, paused: 0 })) {
    // A queue without a row never was paused. One that was may hold work that nobody has been told of.
    yield* signalReady([name]);
  }
}

/** By name. */
export function* getQueues(): Operation<QueueRecord[]> {
  return (yield* query(queueStatements.all, {})).map(queueOf);
}

export function* pausedQueues(): Operation<string[]> {
  return (yield* query(queueStatements.paused, {})).map((row) => String(row['name']));
}
