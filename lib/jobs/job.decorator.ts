import { refuseUnknownNames, shown, unexpected } from '../model/checks';
import { InvalidArgumentError } from '../model/errors';
import { checkedName } from '../model/names';
import type { RetryPolicy } from '../model/retry';
import type { Duration } from '../model/time';
import { checkedDefaults } from './enqueue-options';
import { recordContextParameter, recordJobMethod, recordJobTarget } from './handler-metadata';

/** Defaults for the jobs of a handler or target; options of the enqueueing call win over them. */
export interface JobDefaultOptions {
  /** Default `default`. */
  queue?: string;
  /** Higher is claimed first. Default 0. */
  priority?: number;
  /** Default: the node's `defaultRetry`. */
  retry?: RetryPolicy;
  /** Longest time one execution may take: then its signal aborts, and it has failed. Default: none. */
  timeout?: Duration;
}

export interface JobOptions extends JobDefaultOptions {
  /** Pins the whole recorded name, against renames and minifiers. Default `Token.method`. */
  name?: string;
  /** Names under which jobs of this method were recorded before: looked up at execution only. */
  aliases?: readonly string[];
  /**
   * Whether this failure may be retried, as far as the policy allows; false makes the job Dead at once. Asked of the node that
   * runs it, with whatever was thrown. Synchronous. Default: every failure may.
   */
  retryIf?: (error: unknown) => boolean;
}

export interface JobTargetOptions extends JobDefaultOptions {
  /** Names that this target had before: jobs recorded as `<alias>.<method>` are found at execution. */
  aliases?: readonly string[];
}

const DEFAULT_NAMES = ['queue', 'priority', 'retry', 'timeout', 'aliases'];
const TARGET_OPTIONS: ReadonlySet<string> = new Set(DEFAULT_NAMES);
const JOB_OPTIONS: ReadonlySet<string> = new Set(['name', 'retryIf', ...DEFAULT_NAMES]);

/**
 * Marks a method of any provider as a job handler: jobs that were enqueued for it run it. Its return value is ignored.
 *
 * @throws {InvalidArgumentError} an option is unknown or wrong, or the member is no instance method
 */
export function Job(options: JobOptions = {}): MethodDecorator {
  return (prototype, key, descriptor) => {
    const place = `@Job of ${memberName(prototype, key)}`;
    if (typeof prototype === 'function' || typeof key === 'symbol' || typeof descriptor.value !== 'function') {
      throw new InvalidArgumentError(`${place}: only an instance method with a name can be a job.`);
    }
    refuseUnknownNames(options, JOB_OPTIONS, place);
    recordJobMethod(prototype, key, {
      name: options.name === undefined ? undefined : checkedName(options.name, 'job name'),
      aliases: checkedAliases(options.aliases ?? [], place),
      retryIf: checkedPredicate(options.retryIf, place),
      ...checkedDefaults(options, place),
    });
  };
}

/**
 * Pins the name under which jobs of a class, often an abstract one that is a DI token, are recorded (`<name>.<method>`),
 * and carries the options that a process which only enqueues needs, since it does not see the handler's `@Job`.
 */
export function JobTarget(name: string, options: JobTargetOptions = {}): ClassDecorator {
  return (type) => {
    const place = `@JobTarget of ${type.name}`;
    refuseUnknownNames(options, TARGET_OPTIONS, place);
    recordJobTarget(type, {
      name: checkedName(name, 'job name'),
      aliases: checkedAliases(options.aliases ?? [], place),
      ...checkedDefaults(options, place),
    });
  };
}

/** Marks the parameter of a job handler that receives the {@link JobContext}; callers leave it out. */
export function JobCtx(): ParameterDecorator {
  return (prototype, key, index) => {
    if (typeof key !== 'string' || typeof prototype === 'function') {
      throw new InvalidArgumentError('@JobCtx: only a parameter of an instance method can receive the job context.');
    }
    recordContextParameter(prototype, key, index);
  };
}

function checkedPredicate(retryIf: JobOptions['retryIf'], place: string): JobOptions['retryIf'] {
  if (retryIf !== undefined && typeof retryIf !== 'function')
    throw unexpected(`retryIf in ${place}`, 'a function', retryIf);
  return retryIf;
}

function checkedAliases(aliases: readonly string[], place: string): readonly string[] {
  if (!Array.isArray(aliases)) throw unexpected(`aliases in ${place}`, 'a list of names', aliases);
  return aliases.map((alias) => checkedName(alias, 'job name'));
}

function memberName(prototype: object, key: string | symbol): string {
  const owner = typeof prototype === 'function' ? prototype : prototype.constructor;
  return `${owner.name}.${typeof key === 'string' ? key : shown(key)}`;
}
