import type { DynamicModule, ForwardReference, ModuleMetadata, Type } from '@nestjs/common';

type Import = NonNullable<ModuleMetadata['imports']>[number];

/** Whether `module` is among imports, or among what these import. */
export async function isRegistered(module: Type, imports: readonly Import[]): Promise<boolean> {
  const seen = new Set<unknown>();
  const search = async (candidates: readonly Import[]): Promise<boolean> => {
    for (const candidate of candidates) {
      const resolved = await resolve(candidate);
      if (resolved === undefined || seen.has(resolved)) continue;
      seen.add(resolved);
      const [type, further] = isDynamic(resolved) ? [resolved.module, resolved.imports ?? []] : [resolved, []];
      if (type === module || (await search([...importsOf(type), ...further]))) return true;
    }
    return false;
  };
  return search(imports);
}

async function resolve(candidate: Import): Promise<Type | DynamicModule | undefined> {
  const awaited = await candidate;
  // A circular import of files leaves an undefined here, which Nest itself reports better.
  if (awaited === undefined || awaited === null) return undefined;
  return isForwardReference(awaited) ? (awaited.forwardRef() as Type | DynamicModule) : awaited;
}

function isForwardReference(module: Type | DynamicModule | ForwardReference): module is ForwardReference {
  return 'forwardRef' in module && typeof module.forwardRef === 'function';
}

function isDynamic(module: Type | DynamicModule): module is DynamicModule {
  return 'module' in module;
}

function importsOf(type: Type): readonly Import[] {
  return (Reflect.getMetadata('imports', type) as readonly Import[] | undefined) ?? [];
}
