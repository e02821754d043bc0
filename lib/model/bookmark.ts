import type { BookmarkId, InstanceId } from './ids';

/** An instance that waits: for a signal of this name, key and tenant, or for `expiresAt`. Consumed at most once. */
export interface Bookmark {
  readonly id: BookmarkId;
  readonly instanceId: InstanceId;
  readonly tenantId: string | null;
  readonly signalName: string;
  readonly correlationId: string;
  /** Where the wait stands in the graph: JSON text, copied to the resume job. */
  readonly position: string;
  readonly scope: string;
  /** When the wait gives up; null for never. */
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}
