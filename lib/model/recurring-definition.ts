import type { RetryPolicy } from './retry';
import type { Milliseconds } from './time';

/** What becomes of an occurrence that nobody could fire in time: fire it once when someone can, or drop it. */
export const MisfirePolicy = { FireOnce: 'fireOnce', Skip: 'skip' } as const;
export type MisfirePolicy = (typeof MisfirePolicy)[keyof typeof MisfirePolicy];

/** The persisted numbers. A format: never renumber. */
export const MISFIRE_CODES = { fireOnce: 0, skip: 1 } as const satisfies Record<MisfirePolicy, number>;
export const MISFIRE_POLICIES = Object.keys(MISFIRE_CODES) as readonly MisfirePolicy[];

/** A schedule that produces jobs. Its id is its identity, across tenants. */
export interface RecurringDefinition {
  readonly id: string;
  /** Five-field vixie cron or a nickname, UTC; verbatim as given. */
  readonly cron: string;
  readonly queue: string;
  readonly priority: number;
  readonly handler: string;
  readonly args: string;
  readonly argTypes: string | null;
  readonly retry: RetryPolicy;
  readonly timeout: Milliseconds | null;
  readonly misfire: MisfirePolicy;
  readonly tenantId: string | null;
  /** The next planned instant; null while the definition is parked, see `parkedReason`. */
  readonly nextFireTime: Date | null;
  /** The planned instant that fired last; null before the first. */
  readonly lastFireTime: Date | null;
  /** Why it does not fire: its stored expression no longer parses. Cleared by the next upsert. */
  readonly parkedReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
