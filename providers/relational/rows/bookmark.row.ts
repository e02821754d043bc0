import type { Bookmark } from '../../../lib/storage';
import type { Row } from '../operation';
import { epoch, instant, optionalEpoch, optionalInstant, optionalText, text } from './values';

export const BOOKMARK_COLUMNS = [
  'id',
  'instance_id',
  'created_at',
  'expires_at',
  'tenant_id',
  'signal_name',
  'correlation_id',
  'position',
  'scope',
] as const;

export function bookmarkOf(row: Row): Bookmark {
  return {
    id: text(row['id']),
    instanceId: text(row['instance_id']),
    tenantId: optionalText(row['tenant_id']),
    signalName: text(row['signal_name']),
    correlationId: text(row['correlation_id']),
    position: text(row['position']),
    scope: text(row['scope']),
    expiresAt: optionalInstant(row['expires_at']),
    createdAt: instant(row['created_at']),
  };
}

export function bookmarkToRow(bookmark: Bookmark) {
  return {
    id: bookmark.id,
    instance_id: bookmark.instanceId,
    created_at: epoch(bookmark.createdAt),
    expires_at: optionalEpoch(bookmark.expiresAt),
    tenant_id: bookmark.tenantId,
    signal_name: bookmark.signalName,
    correlation_id: bookmark.correlationId,
    position: bookmark.position,
    scope: bookmark.scope,
  } as const;
}
