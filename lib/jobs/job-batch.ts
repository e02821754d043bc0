import { unexpected } from '../model/checks';
import { parseId, type JobId } from '../model/ids';
import { type Duration, type Milliseconds, toMilliseconds } from '../model/time';
import { captureCall, type CapturedCall } from './captured-call';
import { type CheckedFollowUp, checkedFollowUpOptions, type FollowUpOptions } from './enqueue-options';
import type { JobCall, JobTargetType } from './job-target-type';

/** When a job is to become claimable: so long after it is stored, or at an instant. */
export type JobDelay = { readonly after: Milliseconds } | { readonly at: Date };

/** A member of a batch, as data. */
export interface BatchMember {
  readonly call: CapturedCall;
  readonly options: CheckedFollowUp;
  readonly delay: JobDelay | null;
  /** An id, or the position of an earlier member. */
  readonly parent: JobId | number | null;
}

const PAYLOAD_LIMIT = 8 * 2 ** 20; // no node takes more; its own limit is checked when the batch is submitted

/**
 * Jobs that are stored together, all or none, in one transaction. Arguments are captured when a member is added; delays
 * and the tenant count from the submission.
 */
export class JobBatch {
  private readonly list: BatchMember[] = [];

  /** Members so far; also the index of the next one. */
  get size(): number {
    return this.list.length;
  }

  /** @internal */
  get members(): readonly BatchMember[] {
    return this.list;
  }

  /** Adds a job that is claimable at once. */
  enqueue<T>(target: JobTargetType<T>, call: JobCall<T>, options?: FollowUpOptions): this {
    return this.add(target, call, options, null, null);
  }

  /** Adds a job that becomes claimable after a delay, measured from the submission, or at an instant. */
  schedule<T>(target: JobTargetType<T>, call: JobCall<T>, when: Duration | Date, options?: FollowUpOptions): this {
    return this.add(target, call, options, checkedDelay(when), null);
  }

  /**
   * Adds a job that runs if and when its parent has succeeded.
   *
   * @param parent id of a job, or index (from 0) of an earlier member. Where that member's idempotency key is held by
   *   another job, its continuation follows that job.
   */
  continueWith<T>(parent: JobId | number, target: JobTargetType<T>, call: JobCall<T>, options?: FollowUpOptions): this {
    return this.add(target, call, options, null, this.checkedParent(parent));
  }

  private add<T>(
    target: JobTargetType<T>,
    call: JobCall<T>,
    options: FollowUpOptions | undefined,
    delay: JobDelay | null,
    parent: JobId | number | null,
  ): this {
    const checked = checkedFollowUpOptions(options);
    this.list.push({ call: captureCall(target, call, PAYLOAD_LIMIT), options: checked, delay, parent });
    return this;
  }

  private checkedParent(parent: JobId | number): JobId | number {
    if (typeof parent !== 'number') return checkedJobId(parent, 'the parent');
    if (!Number.isInteger(parent) || parent < 0 || parent >= this.list.length) {
      throw unexpected(
        'the parent',
        `the index of an earlier member (0 to ${this.list.length - 1}) or a job id`,
        parent,
      );
    }
    return parent;
  }
}

/** A delay or instant as callers give it. A past instant is allowed: the job becomes claimable at once. */
export function checkedDelay(when: Duration | Date): JobDelay {
  if (!(when instanceof Date)) return { after: toMilliseconds(when, 'the delay') };
  if (Number.isNaN(when.getTime())) throw unexpected('the due time', 'a valid Date', when);
  return { at: new Date(when) };
}

/** A job id in either of its spellings. */
export function checkedJobId(id: unknown, name = 'the job id'): JobId {
  const parsed = typeof id === 'string' ? parseId(id) : null;
  if (parsed === null) throw unexpected(name, 'an id that an enqueueing call returned', id);
  return parsed;
}
