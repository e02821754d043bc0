import type { JobRecord } from '../../model/job';
import type { InstanceSummary, JobDetails, JobSummary, RecurringSummary } from '../../model/monitoring';
import type { RecurringDefinition } from '../../model/recurring-definition';
import type { WorkflowInstance } from '../../model/workflow-instance';
import { copyAttempt, copyDefinition, copyInstance, copyJob } from './copies';
import type { StoredJob } from './stored-job';

/** Without arguments, as all of these are without what users put in. */
export function jobSummary(record: JobRecord): JobSummary {
  const job = copyJob(record);
  return {
    id: job.id,
    queue: job.queue,
    state: job.state,
    handler: job.handler,
    priority: job.priority,
    createdAt: job.createdAt,
    dueAt: job.dueAt,
    finishedAt: job.finishedAt,
    attempt: job.attempt,
    failures: job.failures,
    releases: job.releases,
    interruptions: job.interruptions,
    tenantId: job.tenantId,
    workerId: job.workerId,
  };
}

export function jobDetails({ record, attempts }: StoredJob): JobDetails {
  return { ...copyJob(record), attempts: attempts.map(copyAttempt).toReversed() };
}

export function instanceSummary(record: WorkflowInstance): InstanceSummary {
  const instance = copyInstance(record);
  return {
    id: instance.id,
    definitionId: instance.definitionId,
    definitionVersion: instance.definitionVersion,
    state: instance.state,
    tenantId: instance.tenantId,
    createdAt: instance.createdAt,
    updatedAt: instance.updatedAt,
    revision: instance.revision,
  };
}

/** @param newest the job of this definition that was created last */
export function recurringSummary(record: RecurringDefinition, newest: JobRecord | undefined): RecurringSummary {
  const definition = copyDefinition(record);
  return {
    id: definition.id,
    cron: definition.cron,
    queue: definition.queue,
    handler: definition.handler,
    priority: definition.priority,
    tenantId: definition.tenantId,
    nextFireTime: definition.nextFireTime,
    lastFireTime: definition.lastFireTime,
    parkedReason: definition.parkedReason,
    createdAt: definition.createdAt,
    updatedAt: definition.updatedAt,
    lastOutcome: newest?.state ?? null,
    lastJobId: newest?.id ?? null,
  };
}
