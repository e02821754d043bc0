import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../../millrace.options';
import { Inject, Injectable } from '@nestjs/common';
import type { Bookmark } from '../../model/bookmark';
import { newId } from '../../model/ids';
import { type JobRecord, newJob } from '../../model/job';
import { JobState } from '../../model/job-state';
import { later } from '../../model/time';
import type { WorkflowInstance } from '../../model/workflow-instance';
import { encodePosition, scopeOf } from '../execution/position';
import type { StepRequest, WaitRequest } from '../execution/workflow-state';
import type { ActivityReference, WorkflowGraph } from '../graph/graph';

/** Recorded name of the jobs that take an instance on after a delay. */
export const DELAY_HANDLER = 'millrace.delay';
/** Recorded name of the jobs that take an instance on after a wait: `[payload]`, or `[]` without one. */
export const RESUME_HANDLER = 'millrace.resume';

/** What the jobs and bookmarks of an instance have from it. */
type Owner = Pick<WorkflowInstance, 'id' | 'tenantId'>;

/** Makes the jobs and bookmarks that a move of an instance asks for. */
@Injectable()
export class StepRecords {
  constructor(@Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions) {}

  /** @param traceParent of what has led here */
  job(graph: WorkflowGraph, owner: Owner, { position, delay }: StepRequest, traceParent: string | null): JobRecord {
    const createdAt = this.options.clock.now();
    const node = graph.nodes.get(position.node);
    const activity = node?.kind === 'Activity' ? (position.undo ? node.compensation : node.activity) : null;
    return newJob({
      id: newId(createdAt),
      createdAt,
      ...this.placement(activity),
      args: '[]',
      tenantId: owner.tenantId,
      traceParent,
      instanceId: owner.id,
      position: encodePosition(position),
      scope: scopeOf(position.path),
      ...(delay !== null && { state: JobState.Scheduled, dueAt: later(createdAt, delay) }),
    });
  }

  bookmark(owner: Owner, { position, signalName, correlationId, timeout }: WaitRequest): Bookmark {
    const createdAt = this.options.clock.now();
    return {
      id: newId(createdAt),
      instanceId: owner.id,
      tenantId: owner.tenantId,
      signalName,
      correlationId,
      position: encodePosition(position),
      scope: scopeOf(position.path),
      expiresAt: timeout === null ? null : later(createdAt, timeout),
      createdAt,
    };
  }

  /** The job that resumes a wait; storage gives it the instance and the position of the bookmark that it consumes. */
  resume(tenantId: string | null, args: Pick<JobRecord, 'args' | 'argTypes'>, traceParent: string | null): JobRecord {
    const createdAt = this.options.clock.now();
    const { workflowQueue: queue, defaultRetry: retry } = this.options;
    return newJob({
      id: newId(createdAt),
      createdAt,
      queue,
      handler: RESUME_HANDLER,
      retry,
      tenantId,
      traceParent,
      ...args,
    });
  }

  private placement(activity: ActivityReference | null): Pick<JobRecord, 'handler' | 'queue' | 'retry' | 'timeout'> {
    const { workflowQueue, defaultRetry } = this.options;
    return {
      handler: activity?.name ?? DELAY_HANDLER,
      queue: activity?.queue ?? workflowQueue,
      retry: activity?.retry ?? defaultRetry,
      timeout: activity?.timeout ?? null,
    };
  }
}
