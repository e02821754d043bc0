import { Injectable, Logger } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { checkedName } from '../model/names';
import type { JobMethod } from './handler-metadata';
import { DuplicateHandlerError } from './job.errors';

/** Where the object whose method runs comes from. */
export type HandlerSource =
  /** The same for all executions. */
  | { readonly kind: 'instance'; readonly instance: object }
  /** One per execution: the provider, or something that it depends on, is request-scoped or transient. */
  | { readonly kind: 'scoped'; readonly token: unknown; readonly moduleRef: ModuleRef; readonly durable: boolean };

/** A method that this node can run jobs with. */
export interface JobHandler {
  /** The class that implements it. */
  readonly type: object;
  readonly className: string;
  readonly method: string;
  readonly metadata: JobMethod;
  /** Positions of the `@JobCtx()` parameters. */
  readonly contextParameters: readonly number[];
  readonly source: HandlerSource;
  readonly moduleName: string;
  /** The provider's token is the class itself. */
  readonly ownToken: boolean;
}

/** The handlers of this node by recorded name. Filled once, at startup. */
@Injectable()
export class JobRegistry {
  private readonly logger = new Logger('Millrace');
  private readonly handlers = new Map<string, JobHandler>();
  private readonly implicit = new Map<string, JobHandler | null>();
  private readonly aliases = new Map<string, JobHandler>();
  private readonly tokens = new Set<unknown>();

  /** The handler of a recorded name or alias; undefined when this node has none. */
  get(name: string): JobHandler | undefined {
    return this.handlers.get(name) ?? this.implicit.get(name) ?? this.aliases.get(name);
  }

  /** All recorded names that this node can run, without aliases. */
  names(): readonly string[] {
    return [...this.handlers.keys()].toSorted();
  }

  /** Whether some provider stands under this token, with jobs or without. */
  provides(token: unknown): boolean {
    return this.tokens.has(token);
  }

  addToken(token: unknown): void {
    this.tokens.add(token);
  }

  /**
   * Registers a name under which jobs are recorded.
   *
   * @throws {DuplicateHandlerError} another class has it
   */
  add(name: string, handler: JobHandler): void {
    checkedName(name, 'job name');
    const existing = this.handlers.get(name);
    if (existing === undefined) {
      this.handlers.set(name, handler);
      return;
    }
    this.refuseOtherClass(name, existing, handler);
    if (isSameSource(existing.source, handler.source)) return;
    if (existing.ownToken === handler.ownToken) {
      this.logger.warn(
        `${handler.className} is provided by ${existing.moduleName} and by ${handler.moduleName}: ` +
          `jobs recorded as "${name}" run on the one of ${existing.moduleName}.`,
      );
    } else if (handler.ownToken) {
      this.handlers.set(name, handler);
    }
  }

  /** Registers `Token.method` for a method whose name is pinned: found unless two classes claim it, since nobody must record it. */
  addImplicit(name: string, handler: JobHandler): void {
    const existing = this.implicit.get(name);
    if (existing === undefined) this.implicit.set(name, handler);
    else if (existing?.type !== handler.type) this.implicit.set(name, null);
  }

  /**
   * Registers a name that is looked up at execution only. Call it after every {@link add}.
   *
   * @throws {DuplicateHandlerError} another class has it, as a name or as an alias
   */
  addAlias(name: string, handler: JobHandler): void {
    const existing = this.handlers.get(name) ?? this.aliases.get(name);
    if (existing !== undefined) this.refuseOtherClass(name, existing, handler);
    else this.aliases.set(name, handler);
  }

  private refuseOtherClass(name: string, existing: JobHandler, handler: JobHandler): void {
    if (existing.type === handler.type) return;
    throw new DuplicateHandlerError(
      name,
      [existing.className, handler.className],
      [existing.moduleName, handler.moduleName],
    );
  }
}

function isSameSource(a: HandlerSource, b: HandlerSource): boolean {
  if (a.kind === 'instance') return b.kind === 'instance' && a.instance === b.instance;
  return b.kind === 'scoped' && a.token === b.token && a.moduleRef === b.moduleRef;
}
