import { Inject, Injectable } from '@nestjs/common';
import { checkedName } from '../model/names';
import {
  jobMethodsOf,
  jobTargetOf,
  type JobDefaults,
  type JobMethod,
  type JobTargetMetadata,
} from './handler-metadata';
import { isProduction, isUnstable, JobExplorer, unstableNames } from './job-explorer';
import { JobRegistry } from './job-registry';
import type { JobTargetType } from './job-target-type';
import { InvalidCallError } from './job.errors';

/** What the enqueueing side knows of a method: its recorded name and the defaults that decorators give. */
export interface ResolvedTarget extends JobDefaults {
  readonly handler: string;
}

/** Finds out what a call of `Target.method` is recorded as. Remembers the answer, which costs some reflection. */
@Injectable()
export class JobTargets {
  private readonly known = new WeakMap<object, Map<string, ResolvedTarget>>();

  constructor(
    @Inject(JobExplorer) private readonly explorer: JobExplorer,
    @Inject(JobRegistry) private readonly registry: JobRegistry,
  ) {}

  /**
   * @throws {InvalidCallError} the method is no job: it has no `@Job`, and its class no `@JobTarget`
   * @throws {UnstableHandlerNameError} in production, for a target whose name a minifier has made
   */
  resolve(target: JobTargetType<unknown>, method: string): ResolvedTarget {
    const remembered = this.known.get(target)?.get(method);
    if (remembered !== undefined) return remembered;
    const resolved = this.lookUp(target, method);
    if (this.explorer.explored) this.remember(target, method, resolved);
    return resolved;
  }

  private lookUp(target: JobTargetType<unknown>, method: string): ResolvedTarget {
    const pinned = jobTargetOf(target);
    const tokenName = `${pinned?.name ?? target.name}.${method}`;
    const job = jobMethodsOf(target.prototype as object).get(method) ?? this.registry.get(tokenName)?.metadata;
    if (job === undefined && pinned === undefined) this.refuseUndecorated(target, method);
    if (job?.name === undefined && isUnstable(target) && isProduction()) throw unstableNames([target.name]);
    return { handler: checkedName(job?.name ?? tokenName, 'job name'), ...defaultsOf(job, pinned) };
  }

  /** Passes an abstract method of a token that nothing stands under here: this process only enqueues. */
  private refuseUndecorated(target: JobTargetType<unknown>, method: string): void {
    const isAbstract = !(method in (target.prototype as object));
    if (isAbstract && !this.registry.provides(target)) return;
    const place = `${target.name}.${method}`;
    throw new InvalidCallError(
      `${place} is no job. Add @Job() to the method, or @JobTarget('name') to ${target.name} where its handler is elsewhere.`,
    );
  }

  private remember(target: object, method: string, resolved: ResolvedTarget): void {
    const methods = this.known.get(target);
    if (methods === undefined) this.known.set(target, new Map([[method, resolved]]));
    else methods.set(method, resolved);
  }
}

function defaultsOf(job: JobMethod | undefined, target: JobTargetMetadata | undefined): JobDefaults {
  return {
    queue: job?.queue ?? target?.queue,
    priority: job?.priority ?? target?.priority,
    retry: job?.retry ?? target?.retry,
    timeout: job?.timeout ?? target?.timeout,
  };
}
