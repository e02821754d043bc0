import { type ClaimedJob, newId, newJob, Retry } from 'nestjs-millrace/storage';

/** A job as a first claim returns it, with everything defaulted that a test is not about. */
export function aClaimedJob(fields: Partial<ClaimedJob> = {}): ClaimedJob {
  const createdAt = new Date('2026-01-01T00:00:00.000Z');
  return {
    ...newJob({
      id: newId(createdAt),
      queue: 'default',
      handler: 'Mailer.send',
      args: '[]',
      retry: Retry.none,
      createdAt,
    }),
    attempt: 1,
    ...fields,
  };
}
