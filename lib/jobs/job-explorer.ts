import { Inject, Injectable, Logger } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import { contextParametersOf, jobMethodsOf, jobTargetOf } from './handler-metadata';
import { type JobHandler, JobRegistry } from './job-registry';
import { UnstableHandlerNameError } from './job.errors';
import { aliased, classOf, isClass, type NamedClass, nameOf, prototypeOf, sourceOf } from './provider-source';

interface FoundHandler {
  readonly handler: JobHandler;
  /** Classes that callers may name: the provider's token, where it is one, and the class itself. */
  readonly targets: readonly NamedClass[];
}

/** Names that a minifier makes. */
const MINIFIED = /^[\p{L}$_]{1,2}$/u;

/**
 * Finds the `@Job` methods of the providers and controllers of every module, so that nothing is listed twice.
 *
 * A provider is known by the prototype of what it resolves to, whatever its kind: class, factory, value or alias. No
 * property of it is read. Recorded are `Token.method` and `Class.method`; a token that is a string or a symbol names no
 * class that a caller could pass, so behind such a token only `Class.method` is recorded. A request-scoped factory has
 * nothing to look at before a job runs, and is known by its token, where that is a class with `@Job` methods.
 */
@Injectable()
export class JobExplorer {
  private readonly logger = new Logger('Millrace');
  private isExplored = false;

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(JobRegistry) private readonly registry: JobRegistry,
  ) {}

  /** Whether the registry is complete; before it is, an enqueueing call knows only what its own target says. */
  get explored(): boolean {
    return this.isExplored;
  }

  /**
   * Fills the registry. Call it when all providers have been created.
   *
   * @throws {DuplicateHandlerError} two classes have one recorded name
   * @throws {UnstableHandlerNameError} in production, for a name that a minifier has made
   */
  explore(): void {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    for (const wrapper of wrappers) this.registry.addToken(wrapper.token);
    const found = wrappers.flatMap((wrapper) => this.handlersOf(wrapper, wrappers));
    for (const { handler, targets } of found) this.register(handler, targets);
    for (const { handler, targets } of found) this.registerAliases(handler, targets);
    this.checkNames(found);
    this.isExplored = true;
  }

  private handlersOf(wrapper: InstanceWrapper, all: readonly InstanceWrapper[]): FoundHandler[] {
    const provider = aliased(wrapper, all);
    const prototype = prototypeOf(provider);
    if (prototype === undefined) return [];
    const type = classOf(prototype);
    const targets = [wrapper.token, type].filter(
      (target, position, both) => isClass(target) && both.indexOf(target) === position,
    );
    return [...jobMethodsOf(prototype)].map(([method, metadata]) => ({
      targets: targets as unknown as NamedClass[],
      handler: {
        type,
        className: nameOf(type),
        method,
        metadata,
        contextParameters: contextParametersOf(prototype, method),
        source: sourceOf(provider),
        moduleName: wrapper.host?.name ?? 'an unknown module',
        ownToken: wrapper.token === type,
      },
    }));
  }

  private register(handler: JobHandler, targets: readonly NamedClass[]): void {
    const { name } = handler.metadata;
    if (name !== undefined) this.registry.add(name, handler);
    for (const target of targets) {
      const recorded = `${jobTargetOf(target)?.name ?? target.name}.${handler.method}`;
      if (name === undefined) this.registry.add(recorded, handler);
      else this.registry.addImplicit(recorded, handler);
    }
  }

  private registerAliases(handler: JobHandler, targets: readonly NamedClass[]): void {
    for (const alias of handler.metadata.aliases) this.registry.addAlias(alias, handler);
    for (const target of targets) {
      for (const alias of jobTargetOf(target)?.aliases ?? [])
        this.registry.addAlias(`${alias}.${handler.method}`, handler);
    }
  }

  private checkNames(found: readonly FoundHandler[]): void {
    const unpinned = found
      .filter(({ handler }) => handler.metadata.name === undefined)
      .flatMap(({ targets }) => targets);
    const minified = new Set(unpinned.filter((target) => isUnstable(target)).map(({ name }) => name));
    if (minified.size === 0) return;
    const error = unstableNames([...minified]);
    if (isProduction()) throw error;
    this.logger.warn(error.message);
  }
}

/** A class without pinned name whose own name a minifier has made, or that has none. */
export function isUnstable(target: NamedClass): boolean {
  return jobTargetOf(target) === undefined && isMinified(target.name);
}

/** A name that a minifier has made, or none at all: the next build may give it to another class. */
export function isMinified(name: string): boolean {
  return name === '' || MINIFIED.test(name);
}

export function unstableNames(names: readonly string[]): UnstableHandlerNameError {
  return new UnstableHandlerNameError(
    `Jobs would be recorded under names that a minifier made and the next build may give to another class: ` +
      `${names.map((name) => (name === '' ? '(no name)' : name)).join(', ')}. Pin them with @JobTarget('name') on the class.`,
  );
}

export function isProduction(): boolean {
  return process.env['NODE_ENV'] === 'production';
}
