import { types as inspect } from 'node:util';
import { checkedCount, checkedInterval, refuseUnknownNames, shown } from '../../model/checks';
import { checkedName } from '../../model/names';
import { checkedRetry, type RetryPolicy } from '../../model/retry';
import { type Duration, type Milliseconds, toMilliseconds } from '../../model/time';
import type { ActivityType } from '../activity';
import { type BuildScope, MUST_BE_SYNCHRONOUS } from './build-scope';
import type { ActivityDraft, Draft, Sequence } from './draft';
import { type ActivityReference, MAX_OPEN_ITERATIONS, type StandardSchema, StepFailurePolicy } from './graph';

/** How the jobs of a step run; each wins over the node's default. */
export interface StepOptions {
  /** Default: the retry policy of the node. */
  retry?: RetryPolicy;
  /** Default: the workflow queue. */
  queue?: string;
  /** Longest time one execution may take: then its signal aborts, and it has failed. Default: none. */
  timeout?: Duration;
}

export interface ForEachOptions {
  /** How many iterations may be open at a time, 1 for one after the other. Default and maximum: 1,000. */
  concurrency?: number;
}

export interface WaitOptions<TData, TPayload> {
  /** Name of the signal, up to 128 characters. */
  name: string;
  /** The key that a sender must name. Pure and synchronous; read when the wait begins. */
  correlate: (data: TData) => string;
  /** Writes the payload into the document. Synchronous; not called when the signal has no payload. */
  bind: (data: TData, payload: TPayload) => void;
  /** When the wait gives up and the sequence goes on without a payload. Default: never. */
  timeout?: Duration;
  /** A Standard Schema: a payload that fails it is refused, and the wait stays. */
  schema?: StandardSchema<TPayload>;
}

type Body = (builder: never) => unknown;

const STEP_OPTIONS: ReadonlySet<string> = new Set(['retry', 'queue', 'timeout']);
const LOOP_OPTIONS: ReadonlySet<string> = new Set(['concurrency']);
const WAIT_OPTIONS: ReadonlySet<string> = new Set(['name', 'correlate', 'bind', 'timeout', 'schema']);

/** Collects the steps of one sequence: what builders inside and outside sagas have in common. */
export abstract class SequenceBuilder<TData> {
  private readonly steps: Draft[] = [];
  /** What is being built within it; null while it takes steps itself. */
  private builds: string | null = null;
  private isDone = false;

  constructor(protected readonly scope: BuildScope) {}

  /** A builder of the same kind, for a branch, an arm or a body. */
  protected abstract inner(): SequenceBuilder<TData>;

  startWith(activity: ActivityType<TData>, options: StepOptions = {}): this {
    const id = this.idFor('a');
    const reference = this.reference(activity, options, id);
    this.steps.push({ kind: 'Activity', id, activity: reference, compensation: null, onFailure: null });
    return this;
  }

  // A builder with a `then` is a thenable: awaited, or returned by an async function, it is called with two functions.
  // oxlint-disable-next-line unicorn/no-thenable
  then(activity: ActivityType<TData>, options: StepOptions = {}): this {
    if (typeof options === 'function') throw this.scope.error(`its builder was awaited. ${MUST_BE_SYNCHRONOUS}`, null);
    return this.startWith(activity, options);
  }

  if(condition: (data: TData) => boolean, then: Body, otherwise?: Body): this {
    const id = this.idFor('if');
    const test = this.functionOf<(data: unknown) => unknown>(condition, 'the condition', id);
    const whenTrue = this.sequence(then, 'the arm for true', id);
    const whenFalse = otherwise === undefined ? [] : this.sequence(otherwise, 'the arm for false', id);
    this.steps.push({ kind: 'If', id, condition: test, whenTrue, whenFalse });
    return this;
  }

  parallel(...branches: readonly Body[]): this {
    const id = this.idFor('par');
    if (branches.length < 2) throw this.scope.error(`parallel needs two branches or more, got ${branches.length}.`, id);
    const built = branches.map((branch, index) => this.sequence(branch, `branch ${index + 1}`, id));
    this.steps.push({ kind: 'Parallel', id, branches: built });
    return this;
  }

  forEach(collection: (data: TData) => unknown, body: Body, options: ForEachOptions = {}): this {
    const id = this.idFor('each');
    const concurrency = this.checked(id, () => {
      refuseUnknownNames(options, LOOP_OPTIONS, 'forEach');
      return checkedCount(options.concurrency ?? MAX_OPEN_ITERATIONS, 'concurrency');
    });
    this.steps.push({
      kind: 'ForEach',
      id,
      collection: this.functionOf<(data: unknown) => unknown>(collection, 'the collection', id),
      body: this.sequence(body, 'the body', id),
      concurrency: Math.min(concurrency, MAX_OPEN_ITERATIONS),
    });
    return this;
  }

  delay(duration: Duration): this {
    const id = this.idFor('delay');
    this.steps.push({ kind: 'Delay', id, duration: this.positive(duration, 'the delay', id) });
    return this;
  }

  waitForSignal<TPayload = unknown>(options: WaitOptions<TData, TPayload>): this {
    const id = this.idFor('sig');
    const { name, correlate, bind, timeout, schema } = options;
    const signalName = this.checked(id, () => {
      refuseUnknownNames(options, WAIT_OPTIONS, 'waitForSignal');
      return checkedName(name, 'signal name');
    });
    if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
      throw this.scope.error('its schema is no Standard Schema (zod, valibot and arktype make them).', id);
    }
    this.steps.push({
      kind: 'WaitForSignal',
      id,
      signalName,
      correlate: this.functionOf<(data: unknown) => unknown>(correlate, 'correlate', id),
      bind: this.functionOf<(data: unknown, payload: unknown) => unknown>(bind, 'bind', id),
      timeout: timeout === undefined ? null : this.positive(timeout, 'its timeout', id),
      schema: schema ?? null,
    });
    return this;
  }

  onFailure(policy: StepFailurePolicy): this {
    const step = this.lastActivity('onFailure');
    if (!Object.hasOwn(StepFailurePolicy, policy)) {
      const known = Object.keys(StepFailurePolicy).join(', ');
      throw this.scope.error(`onFailure takes one of ${known}, got ${shown(policy)}.`, step.id);
    }
    if (step.onFailure !== null) throw this.scope.error('it has two onFailure policies.', step.id);
    step.onFailure = policy;
    return this;
  }

  /** The steps so far. Only the compiler and the enclosing builder ask. */
  collected(): Sequence {
    return this.steps;
  }

  protected add(step: Draft): void {
    this.steps.push(step);
  }

  protected idFor(prefix: string): string {
    this.checkOpen();
    return this.scope.nextId(prefix);
  }

  private checkOpen(): void {
    this.scope.checkOpen();
    if (this.isDone) throw this.scope.error('the builder of a branch was used after its function had returned.', null);
    if (this.builds === null) return;
    throw this.scope.error(
      'the outer builder was used within a branch. Use the builder that its function is given.',
      this.builds,
    );
  }

  protected lastActivity(method: string): ActivityDraft {
    this.checkOpen();
    const step = this.steps.at(-1);
    if (step?.kind === 'Activity') return step;
    const found = step === undefined ? 'there is nothing before it' : `what is before it is ${step.id}`;
    throw this.scope.error(`${method} must follow an activity, and ${found}.`, step?.id ?? null);
  }

  protected sequence(body: Body, what: string, id: string): Sequence {
    return this.filled(this.inner(), body, what, id);
  }

  protected filled(builder: SequenceBuilder<TData>, body: Body, what: string, id: string): Sequence {
    const build = this.functionOf<Body>(body, what, id);
    this.builds = id;
    try {
      refuseResult(this.scope, build(builder as never), what, id);
    } finally {
      this.builds = null;
      builder.isDone = true;
    }
    const steps = builder.collected();
    if (steps.length === 0) throw this.scope.error(`${what} is empty. Give it a step, or leave it out.`, id);
    return steps;
  }

  protected reference(type: ActivityType<TData>, options: StepOptions, id: string): ActivityReference {
    if (!isClass(type)) throw this.scope.error(`expected an activity class, got ${shown(type)}.`, id);
    const name = this.scope.nameOf(type);
    if (name === null) throw this.scope.error(`${type.name} is no activity: provide it, with @Activity() on it.`, id);
    return this.checked(id, () => {
      refuseUnknownNames(options, STEP_OPTIONS, `step ${id}`);
      const { queue, retry, timeout } = options;
      return Object.freeze({
        type,
        name,
        queue: queue === undefined ? null : checkedName(queue, 'queue'),
        retry: retry === undefined ? null : checkedRetry(retry, 'retry'),
        timeout: timeout === undefined ? null : checkedInterval(timeout, 'timeout'),
      });
    });
  }

  private positive(duration: Duration, what: string, id: string): Milliseconds {
    const value = this.checked(id, () => toMilliseconds(duration, what));
    if (value === 0) throw this.scope.error(`${what} must be longer than 0.`, id);
    return value;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says which function it is to be
  private functionOf<F extends (...args: never[]) => unknown>(value: unknown, what: string, id: string): F {
    if (typeof value !== 'function') {
      throw this.scope.error(`expected ${what} to be a function, got ${shown(value)}.`, id);
    }
    if (inspect.isAsyncFunction(value)) throw this.scope.error(`${what} is async. ${MUST_BE_SYNCHRONOUS}`, id);
    return value as F;
  }

  private checked<R>(id: string, read: () => R): R {
    try {
      return read();
    } catch (error) {
      throw this.scope.error(error instanceof Error ? error.message : String(error), id, error);
    }
  }
}

/** Refuses a promise. A builder has a `then` as well, and may be returned. */
export function refuseResult(scope: BuildScope, result: unknown, what: string, step: string | null): void {
  if (!(result instanceof SequenceBuilder)) scope.refusePromise(result, what, step);
}

/** An abstract class that stands as a token has no `execute` of its own, so what it can do is not looked at here. */
function isClass(type: unknown): boolean {
  return typeof type === 'function' && typeof type.prototype === 'object' && type.prototype !== null;
}
