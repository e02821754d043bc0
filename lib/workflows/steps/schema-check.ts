import type { StandardSchema } from '../graph/graph';

/** What a schema makes of a payload, or what it finds wrong with it, one line each. */
export type CheckedPayload = { readonly value: unknown } | { readonly issues: readonly string[] };

/** Asks a Standard Schema, which may answer later. */
export async function checkPayload(schema: StandardSchema, value: unknown): Promise<CheckedPayload> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { issues: result.issues.map(({ message, path }) => `${pathText(path)}${message}`) };
}

function pathText(path: StandardIssuePath): string {
  if (path === undefined || path.length === 0) return '';
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return `${keys.join('.')}: `;
}

type StandardIssuePath = readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
