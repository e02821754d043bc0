export { MillraceModule } from './millrace.module';
export type { MillraceOptionsFactory } from './millrace.module-definition';
export {
  MILLRACE_OPTIONS,
  type MillraceOptions,
  type MillraceOptionsLayer,
  type ResolvedMillraceOptions,
  type ResolvedRetention,
  type RetentionOptions,
} from './millrace.options';
export { SecondRegistrationError } from './millrace.registration';
export { StorageUnavailableError } from './millrace.storage';

export { IJobClient } from './jobs/job-client.interface';
export { JobBatch } from './jobs/job-batch';
export {
  Job,
  JobCtx,
  type JobDefaultOptions,
  type JobOptions,
  JobTarget,
  type JobTargetOptions,
} from './jobs/job.decorator';
export { JobContext, type JobWorkflow } from './jobs/job-context';
export { type AbortCause, JobAbortedError } from './worker/worker.errors';
export type { EnqueueOptions, FollowUpOptions, RecurringOptions, TransactionOptions } from './jobs/enqueue-options';
export type { JobCall, JobTargetType } from './jobs/job-target-type';
export {
  DuplicateHandlerError,
  InvalidCallError,
  JobEndedError,
  JobNotFinishedError,
  JobTimeoutError,
  NoJobContextError,
  UnstableHandlerNameError,
  WorkflowJobError,
} from './jobs/job.errors';
export { ITenantContext } from './tenancy/tenant-context';

export { InvalidArgumentError, InvalidCronError, InvalidPayloadError, MillraceError } from './model/errors';
export type { InstanceId, JobId } from './model/ids';
export type { JobRecord } from './model/job';
export { type JobAttempt, AttemptOutcome } from './model/job-attempt';
export { JobState } from './model/job-state';
export type { JobDetails } from './model/monitoring';
export { MisfirePolicy, type RecurringDefinition } from './model/recurring-definition';
export { RetryAfterError, SnoozeError, UnrecoverableJobError } from './jobs/job-control.errors';
export { Retry, RetryKind, type RetryPolicy } from './model/retry';
export { type Duration, IClock, type Milliseconds } from './model/time';

export {
  IWorkflowClient,
  type DecisionOptions,
  type SignalOptions,
  type StartOptions,
} from './workflows/workflow-client.interface';
export type { ActivityContext, ActivityType, IActivity } from './workflows/activity';
export type { DataType, IWorkflow, WorkflowType } from './workflows/workflow';
export { Activity, type ActivityOptions, Workflow, type WorkflowOptions } from './workflows/workflow.decorators';
export type { InstanceDetails, OpenWait, ParkedStep } from './workflows/instance-details';
export { ParkReason } from './workflows/execution/cursor';
export { CompensationRecovery, StepRecovery } from './workflows/execution/workflow-event';
export type { WorkflowFailure } from './workflows/execution/workflow-state';
export { NestedSagaPolicy, StepFailurePolicy, type StandardSchema, type StandardResult } from './workflows/graph/graph';
export type { ExportedGraph, ExportedNode } from './workflows/graph/graph-export';
export type { ISagaBuilder, SagaBody } from './workflows/graph/saga-builder';
export type { ForEachOptions, StepOptions, WaitOptions } from './workflows/graph/sequence-builder';
export type { IWorkflowBuilder, WorkflowBody } from './workflows/graph/workflow-builder';
export {
  ChangedShapeError,
  DuplicateDefinitionError,
  InvalidDecisionError,
  SignalRefusedError,
  WorkflowDefinitionError,
  WorkflowNotFoundError,
  WorkflowNotRetryableError,
} from './workflows/workflow.errors';
export { InstanceState } from './model/workflow-instance';

export { inMemoryStorage, type InMemoryStorageOptions } from './storage/in-memory';
export type { StorageRegistration } from './storage/storage';
export {
  DefinitionChangedError,
  DriverNotInstalledError,
  DuplicateJobError,
  InstanceKeyHeldError,
  InvalidTransactionError,
  LockTimeoutError,
  OutcomeUnknownError,
  ParentJobNotFoundError,
  RecurringTenantError,
  SchemaVersionError,
  StorageError,
  WorkflowJobParentError,
} from './storage/storage.errors';
export type { TransactionHandle } from './storage/transaction-handle';
