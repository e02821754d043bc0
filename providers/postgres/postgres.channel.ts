import { createHash } from 'node:crypto';

const LONGEST_CHANNEL = 63; // bytes; pg_notify fails, and its transaction with it, for a longer one

/** The NOTIFY channel of a schema. */
export function channelOf(schema: string): string {
  const channel = `millrace_${schema}`;
  if (channel.length <= LONGEST_CHANNEL) return channel;
  return `millrace_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}
