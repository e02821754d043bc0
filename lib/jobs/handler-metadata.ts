import type { RetryPolicy } from '../model/retry';
import type { Milliseconds } from '../model/time';

/** What a decorator says of the jobs of a method or a target; undefined leaves it to whoever comes next. */
export interface JobDefaults {
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly timeout: Milliseconds | undefined;
}

/** What `@Job` recorded of a method. */
export interface JobMethod extends JobDefaults {
  /** The whole recorded name, where it is pinned. */
  readonly name: string | undefined;
  /** Recorded names that are looked up here at execution. */
  readonly aliases: readonly string[];
  /** Whether a failure may be retried; undefined for every one. */
  readonly retryIf: ((error: unknown) => boolean) | undefined;
}

/** What `@JobTarget` recorded of a class. */
export interface JobTargetMetadata extends JobDefaults {
  readonly name: string;
  readonly aliases: readonly string[];
}

const METHODS = 'millrace:job-methods';
const CONTEXT_PARAMETERS = 'millrace:job-context-parameters';
const TARGET = 'millrace:job-target';

// All of it hangs on prototypes and classes, never on the methods: reading it touches no property of an application's
// object, so no getter runs, and a decorator that replaces the method takes nothing away.

export function recordJobMethod(prototype: object, method: string, metadata: JobMethod): void {
  ownMap<JobMethod>(METHODS, prototype).set(method, metadata);
}

export function recordContextParameter(prototype: object, method: string, index: number): void {
  const parameters = ownMap<number[]>(CONTEXT_PARAMETERS, prototype);
  parameters.set(method, [...(parameters.get(method) ?? []), index]);
}

export function recordJobTarget(type: object, metadata: JobTargetMetadata): void {
  Reflect.defineMetadata(TARGET, metadata, type);
}

/** The `@Job` methods of a prototype, inherited ones included; those of a subclass win. */
export function jobMethodsOf(prototype: object): ReadonlyMap<string, JobMethod> {
  const found = new Map<string, JobMethod>();
  for (const methods of chain<JobMethod>(METHODS, prototype)) {
    for (const [method, metadata] of methods) if (!found.has(method)) found.set(method, metadata);
  }
  return found;
}

/** Positions of the `@JobCtx()` parameters of a method, its own or those of the class it is inherited from. */
export function contextParametersOf(prototype: object, method: string): readonly number[] {
  for (const parameters of chain<number[]>(CONTEXT_PARAMETERS, prototype)) {
    const positions = parameters.get(method);
    if (positions !== undefined) return positions;
  }
  return [];
}

/** What `@JobTarget` says of this very class: a pinned name is one class's, and not that of its subclasses. */
export function jobTargetOf(type: object): JobTargetMetadata | undefined {
  return Reflect.getOwnMetadata(TARGET, type) as JobTargetMetadata | undefined;
}

function ownMap<V>(key: string, prototype: object): Map<string, V> {
  const existing = Reflect.getOwnMetadata(key, prototype) as Map<string, V> | undefined;
  if (existing !== undefined) return existing;
  const created = new Map<string, V>();
  Reflect.defineMetadata(key, created, prototype);
  return created;
}

function* chain<V>(key: string, prototype: object): Generator<ReadonlyMap<string, V>> {
  for (
    let object: object | null = prototype;
    object !== null;
    object = Object.getPrototypeOf(object) as object | null
  ) {
    const own = Reflect.getOwnMetadata(key, object) as Map<string, V> | undefined;
    if (own !== undefined) yield own;
  }
}
