import { ModuleRef } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { HandlerSource } from './job-registry';

export interface NamedClass {
  readonly name: string;
}

/** The provider that an alias stands for, where the alias itself resolves to nothing before a job runs. */
export function aliased(wrapper: InstanceWrapper, all: readonly InstanceWrapper[]): InstanceWrapper {
  let provider = wrapper;
  for (const seen = new Set<InstanceWrapper>(); provider.isAlias && !seen.has(provider);) {
    seen.add(provider);
    const token = provider.inject?.[0];
    const host = provider.host;
    const candidates = all.filter((candidate) => candidate.token === token);
    const next = candidates.find((candidate) => candidate.host === host) ?? candidates[0];
    if (next === undefined) return provider;
    provider = next;
  }
  return provider;
}

/** The prototype of what a provider resolves to. Never looks into the instance. */
export function prototypeOf(wrapper: InstanceWrapper): object | undefined {
  const instance: unknown = wrapper.instance;
  if (typeof instance === 'object' && instance !== null) {
    return (Object.getPrototypeOf(instance) as object | null) ?? undefined;
  }
  if (isStatic(wrapper)) return undefined;
  const type: unknown = wrapper.isNotMetatype ? wrapper.token : wrapper.metatype;
  return isClass(type) ? (type as unknown as { prototype: object }).prototype : undefined;
}

export function sourceOf(wrapper: InstanceWrapper): HandlerSource {
  if (isStatic(wrapper)) return { kind: 'instance', instance: wrapper.instance as object };
  const moduleRef = wrapper.host?.providers.get(ModuleRef)?.instance as ModuleRef;
  return { kind: 'scoped', token: wrapper.token, moduleRef, durable: wrapper.isDependencyTreeDurable() };
}

export function isStatic(wrapper: InstanceWrapper): boolean {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
}

export function classOf(prototype: object): NamedClass {
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  return typeof constructor === 'function' ? constructor : { name: '' };
}

export function nameOf(type: NamedClass): string {
  return type.name === '' ? 'a class without a name' : type.name;
}

export function isClass(value: unknown): value is NamedClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
