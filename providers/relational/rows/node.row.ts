import type { NodeRecord, QueueRecord } from '../../../lib/storage';
import type { Row } from '../operation';
import { epoch, flag, instant, number, text } from './values';

export const NODE_COLUMNS = [
  'id',
  'host',
  'queues',
  'max_parallelism',
  'running',
  'version',
  'started_at',
  'heartbeat_at',
] as const;

export function nodeOf(row: Row): NodeRecord {
  return {
    id: text(row['id']),
    host: text(row['host']),
    queues: JSON.parse(text(row['queues'])) as string[],
    maxParallelism: number(row['max_parallelism']),
    running: number(row['running']),
    version: text(row['version']),
    startedAt: instant(row['started_at']),
    heartbeatAt: instant(row['heartbeat_at']),
  };
}

export function nodeToRow(node: NodeRecord) {
  return {
    id: node.id,
    host: node.host,
    queues: JSON.stringify(node.queues),
    max_parallelism: node.maxParallelism,
    running: node.running,
    version: node.version,
    started_at: epoch(node.startedAt),
    heartbeat_at: epoch(node.heartbeatAt),
  } as const;
}

export function queueOf(row: Row): QueueRecord {
  return { name: text(row['name']), paused: flag(row['paused']) };
}
