import { types as inspect } from 'node:util';
import { shown } from '../model/checks';
import type { JobCall, JobTargetType } from './job-target-type';
import { InvalidCallError } from './job.errors';
import { type Misuse, RefusingHandler } from './refusing-handler';

/** The one call that a `(s) => s.method(…)` made. */
export interface RecordedCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

const RIGHT_FORM = 'Write (s) => s.method(…), with one direct call of a method and nothing else.';

/**
 * Calls `call` once, at once, with a stand-in for the service, and answers the one method call that it made. Nothing of
 * the target runs: no constructor, no getter, no method.
 *
 * @throws {InvalidCallError} it made no call, more than one, or anything else; the message says what was found
 */
export function recordCall<T>(target: JobTargetType<T>, call: JobCall<T>): RecordedCall {
  if (!isFunction(target)) {
    throw new InvalidCallError(
      `The target must be the class whose method runs, or its abstract class; got ${shown(target)}.`,
    );
  }
  if (!isFunction(call)) {
    throw new InvalidCallError(`${target.name}: the call must be a function, got ${shown(call)}. ${RIGHT_FORM}`);
  }
  return new Recording(target).run(call as (service: unknown) => unknown);
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

class Recording implements Misuse {
  private readonly service: object = new Proxy({}, new ServiceHandler(this, 'the service'));
  /** A member that was read and waits for its call. */
  private pending: string | undefined;
  private recorded: RecordedCall | undefined;
  private result: object | undefined;
  private problem: InvalidCallError | undefined;
  private over = false;

  constructor(private readonly target: { readonly name: string; readonly prototype: unknown }) {}

  run(call: (service: unknown) => unknown): RecordedCall {
    let returned: unknown;
    try {
      returned = call(this.service);
    } catch (error) {
      throw this.problem ?? error;
    } finally {
      this.over = true;
    }
    return this.checked(returned);
  }

  /** Notes the first problem, which stands even where the caller's code swallows the error. */
  refuse(what: string): never {
    if (this.over) throw this.failure(`${what} after the call had been recorded; keep nothing of the service`);
    this.problem ??= this.failure(what);
    throw this.problem;
  }

  read(property: string | symbol): unknown {
    if (this.over || typeof property === 'symbol')
      return this.refuse(`the service was used as a value: ${String(property)} was read`);
    if (property === 'then') return this.refuse('the service itself was awaited, or returned from an async function');
    if (this.pending !== undefined) return this.refuse(`"${this.pending}" was read and not called`);
    if (this.recorded !== undefined) {
      return this.refuse(
        `"${property}" was used after "${this.recorded.method}" had been called, and a job is one call`,
      );
    }
    const kind = memberKind(this.target.prototype, property);
    if (kind !== 'a method') return this.refuse(`"${property}" is ${kind} and no method`);
    this.pending = property;
    return new Proxy(function () {}, new MethodHandler(this, property));
  }

  record(method: string, self: unknown, args: readonly unknown[]): unknown {
    if (this.over || this.pending !== method)
      return this.refuse(`"${method}" was called again, and a job is one call:`);
    if (self !== this.service) return this.refuse(`"${method}" was taken from the service before it was called`);
    const own = args.indexOf(this.service);
    if (own >= 0) return this.refuse(`argument ${own + 1} of "${method}" is the service itself`);
    this.pending = undefined;
    this.recorded = { method, args };
    this.result = new Proxy({}, new ResultHandler(this, `the result of "${method}"`));
    return this.result;
  }

  private checked(returned: unknown): RecordedCall {
    if (this.problem === undefined && inspect.isPromise(returned)) {
      this.problem = this.failure(
        'an async function was passed: the call is recorded and not run, so nothing can be awaited',
      );
    }
    if (inspect.isPromise(returned)) returned.then(undefined, () => undefined); // its error is the one reported here
    if (this.problem !== undefined) throw this.problem;
    if (this.pending !== undefined) throw this.failure(`"${this.pending}" was read and not called`);
    if (returned === this.service) throw this.failure('the service itself was returned');
    if (this.recorded === undefined) throw this.failure('no method of the service was called');
    if (returned !== undefined && returned !== this.result) {
      throw this.failure(`${shown(returned)} was returned instead of the call`);
    }
    return this.recorded;
  }

  private failure(what: string): InvalidCallError {
    return new InvalidCallError(`${this.target.name}: ${what}. ${RIGHT_FORM}`);
  }
}

class ServiceHandler extends RefusingHandler {
  declare protected readonly misuse: Recording;

  override get(_: object, property: string | symbol): unknown {
    return this.misuse.read(property);
  }
}

class MethodHandler extends RefusingHandler {
  declare protected readonly misuse: Recording;

  constructor(
    recording: Recording,
    private readonly method: string,
  ) {
    super(recording, `"${method}"`);
  }

  override get(_: object, property: string | symbol): never {
    return this.misuse.refuse(
      `"${this.method}.${String(property)}" was read, and a job calls a method of the service itself`,
    );
  }

  apply(_: object, self: unknown, args: readonly unknown[]): unknown {
    return this.misuse.record(this.method, self, args);
  }
}

class ResultHandler extends RefusingHandler {
  override get(_: object, property: string | symbol): never {
    if (property === 'then') return this.refuse('was awaited: the call is recorded and not run');
    return this.refuse(`was used: "${String(property)}" was read, and there is no result yet`);
  }
}

/** What a class says of a member, by its descriptor. An abstract method leaves no trace, so what is not found passes. */
function memberKind(prototype: unknown, property: string): 'a method' | 'a getter or setter' | 'a value' {
  if (property === 'constructor') return 'a value';
  let object = prototype as object | null | undefined;
  while (object !== null && object !== undefined) {
    const descriptor = Object.getOwnPropertyDescriptor(object, property);
    if (descriptor !== undefined) {
      if (descriptor.get !== undefined || descriptor.set !== undefined) return 'a getter or setter';
      return typeof descriptor.value === 'function' ? 'a method' : 'a value';
    }
    object = Object.getPrototypeOf(object) as object | null;
  }
  return 'a method';
}
