import { Inject, Injectable } from '@nestjs/common';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { newId } from '../model/ids';
import { type JobRecord, newJob } from '../model/job';
import { checkedNameOrNull } from '../model/names';
import { checkPayloadSize } from '../model/payload';
import { ARGUMENTS } from '../model/payload-root';
import { type CapturedCall, captureCall } from './captured-call';
import type { CheckedFollowUp } from './enqueue-options';
import type { JobCall, JobTargetType } from './job-target-type';
import { JobTargets } from './job-targets';

const DEFAULT_QUEUE = 'default';

/** Where and how a job is to run: what call, decorators and node agree on. */
export type JobPlacement = Pick<
  JobRecord,
  'handler' | 'args' | 'argTypes' | 'queue' | 'priority' | 'retry' | 'timeout' | 'tenantId'
>;

/** Makes job records from calls. */
@Injectable()
export class JobFactory {
  constructor(
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
    @Inject(JobTargets) private readonly targets: JobTargets,
  ) {}

  /** Records a call and encodes its arguments, at once. */
  capture<T>(target: JobTargetType<T>, call: JobCall<T>): CapturedCall {
    return captureCall(target, call, this.options.maxPayloadBytes);
  }

  /** A job that is claimable at once, unless `fields` says otherwise. */
  create(call: CapturedCall, options: CheckedFollowUp, fields: Partial<JobRecord>): JobRecord {
    const createdAt = this.options.clock.now();
    return newJob({
      id: newId(createdAt),
      createdAt,
      idempotencyKey: options.idempotencyKey,
      ...this.place(call, options),
      ...fields,
    });
  }

  /** Options of the call win over `@Job`, that over `@JobTarget`, and that over the node's defaults. */
  place(call: CapturedCall, options: Omit<CheckedFollowUp, 'idempotencyKey'>): JobPlacement {
    checkPayloadSize(call.payload, ARGUMENTS, this.options.maxPayloadBytes);
    const target = this.targets.resolve(call.target, call.method);
    return {
      handler: target.handler,
      args: call.payload.json,
      argTypes: call.payload.types,
      queue: options.queue ?? target.queue ?? DEFAULT_QUEUE,
      priority: options.priority ?? target.priority ?? 0,
      retry: options.retry ?? target.retry ?? this.options.defaultRetry,
      timeout: options.timeout ?? target.timeout ?? null,
      tenantId: this.tenant(),
    };
  }

  /** The ambient tenant. */
  tenant(): string | null {
    return checkedNameOrNull(this.options.tenants.current(), 'tenant');
  }
}
