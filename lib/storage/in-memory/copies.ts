import type { Bookmark } from '../../model/bookmark';
import { InvalidArgumentError } from '../../model/errors';
import type { ClaimedJob, JobRecord } from '../../model/job';
import type { JobAttempt } from '../../model/job-attempt';
import type { NodeRecord } from '../../model/node';
import type { RecurringDefinition } from '../../model/recurring-definition';
import type { RetryPolicy } from '../../model/retry';
import type { WorkflowDefinitionRecord } from '../../model/workflow-definition';
import type { WorkflowInstance } from '../../model/workflow-instance';

// What is stored and what a caller holds are never the same object, so that neither can change the other's: every record is
// copied on its way in and on its way out. Inside the store records are replaced, never changed.

/** Lists every field: all stored jobs have one shape then, which is what keeps reading them fast. */
export function copyJob(job: JobRecord): JobRecord {
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
    priority: job.priority,
    handler: job.handler,
    args: job.args,
    argTypes: job.argTypes,
    retry: copyRetry(job.retry),
    createdAt: copyInstant(job.createdAt, 'createdAt'),
    readyAt: copyOptional(job.readyAt, 'readyAt'),
    dueAt: copyOptional(job.dueAt, 'dueAt'),
    workerId: job.workerId,
    leaseUntil: copyOptional(job.leaseUntil, 'leaseUntil'),
    attempt: job.attempt,
    failures: job.failures,
    releases: job.releases,
    interruptions: job.interruptions,
    cancelRequested: job.cancelRequested,
    closing: job.closing,
    idempotencyKey: job.idempotencyKey,
    tenantId: job.tenantId,
    parentId: job.parentId,
    requeuedFrom: job.requeuedFrom,
    traceParent: job.traceParent,
    recurringId: job.recurringId,
    occurrenceAt: copyOptional(job.occurrenceAt, 'occurrenceAt'),
    timeout: job.timeout,
    lastError: job.lastError,
    finishedAt: copyOptional(job.finishedAt, 'finishedAt'),
    instanceId: job.instanceId,
    position: job.position,
    scope: job.scope,
  };
}

export function copyClaimed(job: JobRecord): ClaimedJob {
  return {
    id: job.id,
    queue: job.queue,
    priority: job.priority,
    handler: job.handler,
    args: job.args,
    argTypes: job.argTypes,
    retry: job.retry,
    createdAt: copyInstant(job.createdAt, 'createdAt'),
    readyAt: copyOptional(job.readyAt, 'readyAt'),
    attempt: job.attempt,
    failures: job.failures,
    releases: job.releases,
    interruptions: job.interruptions,
    cancelRequested: job.cancelRequested,
    closing: job.closing,
    tenantId: job.tenantId,
    traceParent: job.traceParent,
    recurringId: job.recurringId,
    occurrenceAt: copyOptional(job.occurrenceAt, 'occurrenceAt'),
    timeout: job.timeout,
    instanceId: job.instanceId,
    position: job.position,
    scope: job.scope,
  };
}

export function copyAttempt(attempt: JobAttempt): JobAttempt {
  return { ...attempt, recordedAt: copyInstant(attempt.recordedAt, 'recordedAt') };
}

export function copyInstance(instance: WorkflowInstance): WorkflowInstance {
  return {
    ...instance,
    createdAt: copyInstant(instance.createdAt, 'createdAt'),
    updatedAt: copyInstant(instance.updatedAt, 'updatedAt'),
    finishedAt: copyOptional(instance.finishedAt, 'finishedAt'),
  };
}

export function copyWorkflowDefinition(definition: WorkflowDefinitionRecord): WorkflowDefinitionRecord {
  return { ...definition, registeredAt: copyInstant(definition.registeredAt, 'registeredAt') };
}

export function copyBookmark(bookmark: Bookmark): Bookmark {
  return {
    ...bookmark,
    expiresAt: copyOptional(bookmark.expiresAt, 'expiresAt'),
    createdAt: copyInstant(bookmark.createdAt, 'createdAt'),
  };
}

export function copyDefinition(definition: RecurringDefinition): RecurringDefinition {
  return {
    ...definition,
    retry: copyRetry(definition.retry),
    nextFireTime: copyOptional(definition.nextFireTime, 'nextFireTime'),
    lastFireTime: copyOptional(definition.lastFireTime, 'lastFireTime'),
    createdAt: copyInstant(definition.createdAt, 'createdAt'),
    updatedAt: copyInstant(definition.updatedAt, 'updatedAt'),
  };
}

export function copyNode(node: NodeRecord): NodeRecord {
  return {
    ...node,
    queues: [...node.queues],
    startedAt: copyInstant(node.startedAt, 'startedAt'),
    heartbeatAt: copyInstant(node.heartbeatAt, 'heartbeatAt'),
  };
}

/** Refuses what no store can hold, and what would stand nowhere in an order. */
export function copyInstant(instant: Date, name: string): Date {
  const time = instant.getTime();
  if (Number.isNaN(time)) throw new InvalidArgumentError(`${name} is an invalid date. Pass an instant.`);
  return new Date(time);
}

function copyOptional(instant: Date | null, name: string): Date | null {
  return instant && copyInstant(instant, name);
}

function copyRetry(retry: RetryPolicy): RetryPolicy {
  if (Object.isFrozen(retry)) return retry;
  const { kind, maxAttempts, baseDelay, maxDelay } = retry;
  return Object.freeze({ kind, maxAttempts, baseDelay, maxDelay });
}
