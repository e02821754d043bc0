import { encodeArguments, type EncodedPayload } from '../model/payload';
import { contextParametersOf } from './handler-metadata';
import { recordCall } from './invocation-recorder';
import type { JobCall, JobTargetType } from './job-target-type';

/** A call as data: nothing of the caller's objects is kept. */
export interface CapturedCall {
  readonly target: JobTargetType<unknown>;
  readonly method: string;
  readonly payload: EncodedPayload;
}

/**
 * Records a call and encodes its arguments. What stands in the place of a `@JobCtx()` parameter is not looked at: the
 * execution puts its own context there.
 */
export function captureCall<T>(target: JobTargetType<T>, call: JobCall<T>, maxPayloadBytes: number): CapturedCall {
  const { method, args } = recordCall(target, call);
  const context = rememberedContextParameters(target.prototype as object, method);
  const stored =
    context.length === 0 ? args : args.map((argument, position) => (context.includes(position) ? null : argument));
  return { target, method, payload: encodeArguments(stored, maxPayloadBytes) };
}

const remembered = new WeakMap<object, Map<string, readonly number[]>>();

/** Decorators have had their say before the first call, and asking them costs some reflection. */
function rememberedContextParameters(prototype: object, method: string): readonly number[] {
  let methods = remembered.get(prototype);
  if (methods === undefined) remembered.set(prototype, (methods = new Map()));
  let parameters = methods.get(method);
  if (parameters === undefined) methods.set(method, (parameters = contextParametersOf(prototype, method)));
  return parameters;
}
