import { DAY, type NodeRecord } from '../../lib/storage';
import { insertRows } from './insert-rows';
import { type Operation, query } from './operation';
import { NODE_COLUMNS, nodeOf, nodeToRow } from './rows';
import { typesOf } from './schema/tables';
import type { Statement } from './statement';
import { upsert } from './upsert';

const written = NODE_COLUMNS.filter((column) => column !== 'id');
const STALE = 'heartbeat_at < :staleBefore';

export const nodeStatements = {
  update: {
    name: 'update_node',
    text: (d) =>
      d.update({
        table: 'nodes',
        as: 'n',
        set: written.map((column) => `${column} = r.${column}`).join(', '),
        from: d.rowset(':node', typesOf('nodes', NODE_COLUMNS), 'r'),
        where: 'n.id = :id',
        returning: ['id'],
      }),
  },
  insertUnlessTaken: {
    name: 'insert_node',
    text: (d) =>
      insertRows(d, {
        table: 'nodes',
        columns: NODE_COLUMNS,
        rows: ':node',
        unlessTaken: 'id',
        returning: ['id'],
      }),
  },
  remove: {
    name: 'remove_node',
    text: (d) => d.delete({ table: 'nodes', as: 'n', where: 'n.id = :id', returning: ['id'] }),
  },
  removeStale: {
    name: 'remove_stale_nodes',
    text: (d) =>
      d.delete({
        table: 'nodes',
        as: 'n',
        where: d.inSelect('n.id', d.select({ columns: 'id', table: 'nodes', where: STALE, lock: 'skip' })),
        returning: ['id'],
      }),
  },
  all: {
    name: 'all_nodes',
    text: (d) => d.select({ columns: NODE_COLUMNS.join(', '), table: 'nodes', where: '1 = 1', orderBy: 'id' }),
  },
} satisfies Record<string, Statement>;

/** Stores what a node says of itself. See IJobStorage.recordNode. */
export function* recordNode(node: NodeRecord): Operation<void> {
  yield* upsert(nodeStatements.update, nodeStatements.insertUnlessTaken, {
    id: node.id,
    node: JSON.stringify([nodeToRow(node)]),
  });
}

export function* removeNode(id: string): Operation<void> {
  yield* query(nodeStatements.remove, { id });
}

/** By id. */
export function* getNodes(): Operation<NodeRecord[]> {
  return (yield* query(nodeStatements.all, {})).map(nodeOf);
}

/** Removes what nodes that vanished a day ago or more have left behind. */
export function* removeStaleNodes(now: number): Operation<void> {
  yield* query(nodeStatements.removeStale, { staleBefore: now - DAY });
}
