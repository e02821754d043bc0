/**
 * What is unique while a job is active: the key within its tenant, with no tenant a scope of its own.
 * Null, and so out of the unique index, for a job without key.
 */
export function activeKeyOf(tenantId: string | null, key: string | null): string | null {
  if (key === null) return null;
  return tenantId === null ? `-${key}` : `+${tenantId.length}:${tenantId}${key}`;
}

/** The same for the business key of a live instance, within its tenant and definition. */
export function activeStartKeyOf(tenantId: string | null, definitionId: string, key: string | null): string | null {
  return key === null ? null : activeKeyOf(tenantId, `${definitionId.length}:${definitionId}${key}`);
}
