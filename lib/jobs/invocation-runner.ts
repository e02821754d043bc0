import { Inject, Injectable } from '@nestjs/common';
import { ContextIdFactory, type ContextId } from '@nestjs/core';
import { REQUEST_CONTEXT_ID } from '@nestjs/core/router/request/request-constants.js';
import { isObservable, lastValueFrom } from 'rxjs';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { decodeArguments } from '../model/payload';
import { runningExecution } from './ambient-job-context';
import type { JobExecution } from './job-execution';
import type { HandlerSource, JobHandler } from './job-registry';
import { JobTimeoutError } from './job.errors';

/** Calls a job's handler, in its tenant, with its arguments and context. */
@Injectable()
export class InvocationRunner {
  constructor(@Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions) {}

  /**
   * Runs one execution to its end. A promise, another thenable and an Observable (to its last value) are awaited; what the
   * handler returns is ignored otherwise. After the job's `timeout` its signal aborts and the execution has failed, even if
   * the handler goes on. Rejects with whatever it threw, sooner or later, or with what kept it from
   * running: arguments that cannot be decoded, a provider that cannot be made.
   */
  async run(execution: JobExecution, handler: JobHandler): Promise<void> {
    const invoke = (): Promise<void> => this.invoke(execution, handler);
    try {
      await withinTimeout(
        execution,
        runningExecution.run(execution, () => this.options.tenants.run(execution.job.tenantId, invoke)),
      );
    } finally {
      execution.end();
    }
  }

  private async invoke(execution: JobExecution, handler: JobHandler): Promise<void> {
    const { args: json, argTypes } = execution.job;
    const args = decodeArguments(json, argTypes);
    for (const position of handler.contextParameters) args[position] = execution;
    const { source } = handler;
    const service = source.kind === 'instance' ? source.instance : await resolveScoped(source, execution);
    const method = (service as Record<string, (...args: unknown[]) => unknown>)[handler.method];
    if (typeof method !== 'function') throw new TypeError(`${handler.className} has no method "${handler.method}"`);
    await settled(method.apply(service, args));
  }
}

/** Ends the waiting when the job's time is up, whether or not the handler heeds its signal. */
async function withinTimeout(execution: JobExecution, work: Promise<void>): Promise<void> {
  const { id, timeout } = execution.job;
  if (timeout === null) return work;
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new JobTimeoutError(id, timeout);
      execution.abort(error);
      reject(error);
    }, timeout);
  });
  try {
    await Promise.race([work, expiry]);
  } finally {
    clearTimeout(timer);
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
  if (looksLike(value, isObservable)) await lastValueFrom(value, { defaultValue: undefined });
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
