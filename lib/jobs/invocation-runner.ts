import { Inject, Injectable } from '@nestjs/common';
import { ContextIdFactory, type ContextId } from '@nestjs/core';
import { REQUEST_CONTEXT_ID } from '@nestjs/core/router/request/request-constants.js';
import { types as inspect } from 'node:util';
import { isObservable, lastValueFrom, type Observable } from 'rxjs';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { decodeArguments } from '../model/payload';
import type { Milliseconds } from '../model/time';
import { runningExecution } from './ambient-job-context';
import type { JobExecution } from './job-execution';
import type { HandlerSource, JobHandler } from './job-registry';
import { JobTimeoutError } from './job.errors';

/** Calls a job's handler, in its tenant, with its arguments and context. */
@Injectable()
export class InvocationRunner {
  constructor(@Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions) {}

  /** Runs a job's handler with its arguments and context. Rejects also with what kept it from running: arguments that cannot be decoded. */
  run(execution: JobExecution, handler: JobHandler): Promise<void> {
    return this.perform(execution, () => {
      const { args: json, argTypes } = execution.job;
      const args = decodeArguments(json, argTypes);
      for (const position of handler.contextParameters) args[position] = execution;
      return invokeOn(execution, handler.source, (service) => {
        const method = (service as Record<string, (...args: unknown[]) => unknown>)[handler.method];
        if (typeof method !== 'function') throw new TypeError(`${handler.className} has no method "${handler.method}"`);
        return method.apply(service, args);
      });
    });
  }

  /**
   * Runs the work of one execution to its end, in the job's tenant and context. A promise, another thenable and an Observable
   * (to its last value) are awaited; what it returns is ignored otherwise. After the job's `timeout` its signal aborts and the
   * execution has failed, even if the work goes on. Rejects with whatever the work threw, sooner or later.
   */
  perform(execution: JobExecution, work: () => unknown): Promise<void> {
    const { timeout } = execution.job;
    const finished = this.finish(execution, work);
    return timeout === null ? finished : withinTimeout(execution, timeout, finished);
  }

  /** Calls a provider that does part of the work, and waits as {@link perform} does. Rejects also when it cannot be made. */
  async call(execution: JobExecution, source: HandlerSource, invoke: (service: object) => unknown): Promise<void> {
    await settled(invokeOn(execution, source, invoke));
  }

  // One promise and one await for the usual handler: there are thousands of these a second, and each is tracked by whatever
  // follows asynchronous calls.
  private async finish(execution: JobExecution, work: () => unknown): Promise<void> {
    try {
      const result = this.inContext(execution, () => begun(work()));
      const value: unknown = inspect.isPromise(result) ? await result : result;
      if (looksLike(value, isObservable)) await this.inContext(execution, () => lastValueOf(value));
    } finally {
      execution.end();
    }
  }

  private inContext<T>(execution: JobExecution, work: () => T): T {
    return runningExecution.run(execution, () => this.options.tenants.run(execution.job.tenantId, work));
  }
}

/** What the provider returns, or a promise of it where it has to be made first. */
function invokeOn(execution: JobExecution, source: HandlerSource, invoke: (service: object) => unknown): unknown {
  if (source.kind === 'instance') return invoke(source.instance);
  return resolveScoped(source, execution).then((service) => settled(invoke(service)));
}

/** Ends the waiting when the job's time is up, whether or not the handler heeds its signal. */
async function withinTimeout(execution: JobExecution, timeout: Milliseconds, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new JobTimeoutError(execution.jobId, timeout);
      execution.abort(error);
      reject(error);
    }, timeout);
  });
  try {
    await Promise.race([work, expiry]);
  } finally {
    clearTimeout(timer);
    execution.end();
  }
}

/** One scope per execution, whose REQUEST is the job's context. What Nest's router does for a request. */
async function resolveScoped(source: HandlerSource & { kind: 'scoped' }, execution: JobExecution): Promise<object> {
  const contextId = ContextIdFactory.getByRequest(execution);
  Object.defineProperty(execution, REQUEST_CONTEXT_ID, { value: contextId });
  source.moduleRef.registerRequestByContextId(requestOf(source, execution, contextId), contextId);
  return source.moduleRef.resolve<object>(source.token as string, contextId, { strict: true });
}

/** Durable providers outlive the execution: their request is the payload of the application's ContextIdStrategy. */
function requestOf(source: HandlerSource & { kind: 'scoped' }, execution: JobExecution, contextId: ContextId): unknown {
  const payload: unknown = contextId.payload;
  if (source.durable) return payload;
  for (const [key, value] of Object.entries(payload ?? {})) {
    if (!(key in execution)) Object.defineProperty(execution, key, { value, enumerable: true });
  }
  return execution;
}

/** Waits for what can be waited for. Looking at any other result must not fail the job. */
async function settled(result: unknown): Promise<void> {
  const value: unknown = isThenable(result) ? await result : result;
  if (looksLike(value, isObservable)) await lastValueOf(value);
}

/** A thenable may begin its work only when somebody asks for its value, which is to be here, in the job's context. */
function begun(result: unknown): unknown {
  return isThenable(result) && !inspect.isPromise(result) ? Promise.resolve(result) : result;
}

function lastValueOf(values: Observable<unknown>): Promise<unknown> {
  return lastValueFrom(values, { defaultValue: undefined });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return looksLike(value, (candidate): candidate is PromiseLike<unknown> => {
    return typeof (candidate as Partial<PromiseLike<unknown>>).then === 'function';
  });
}

function looksLike<T>(value: unknown, is: (candidate: unknown) => candidate is T): value is T {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  try {
    return is(value);
  } catch {
    return false;
  }
}
