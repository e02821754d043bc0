// The entry `nestjs-millrace/storage`: what a provider implements, and the records and rules that it needs for that.
export {
  type ClaimRequest,
  IJobStorage,
  type Probe,
  type ProbeRequest,
  type Renewal,
  type RenewalAnswer,
  type RetentionCutoffs,
} from './job-storage';
export { IMonitoringStorage } from './monitoring-storage';
export {
  type Storage,
  type StorageEnvironment,
  type StorageInfo,
  type StorageLogger,
  type StorageRegistration,
} from './storage';
export { IStorageNotifier, type StorageSignal } from './storage-notifier';
export {
  DefinitionChangedError,
  DriverNotInstalledError,
  DuplicateInstanceError,
  DuplicateJobError,
  InstanceKeyHeldError,
  InstanceNotFoundError,
  InvalidJobRecordError,
  InvalidTransactionError,
  LockTimeoutError,
  OutcomeUnknownError,
  ParentJobNotFoundError,
  RecurringTenantError,
  SchemaVersionError,
  StorageClosedError,
  StorageError,
  WorkflowJobParentError,
} from './storage.errors';
export { type TransactionHandle } from './transaction-handle';
export { IWorkflowStorage, type NewInstance, type SignalDelivery } from './workflow-storage';
export { inMemoryStorage, type InMemoryStorageOptions } from './in-memory';
export { type Bookmark } from '../model/bookmark';
export { type DefinitionRegistration, type WorkflowDefinitionRecord } from '../model/workflow-definition';
export { InvalidArgumentError, InvalidCronError, InvalidPayloadError, MillraceError } from '../model/errors';
export {
  type BookmarkId,
  createdAtOf,
  firstIdAt,
  IdGenerator,
  type InstanceId,
  type JobId,
  newId,
  parseId,
} from '../model/ids';
export { type ClaimedJob, type JobFields, type JobRecord, newJob, SUSPECT_INTERRUPTIONS } from '../model/job';
export {
  ATTEMPT_OUTCOME_CODES,
  ATTEMPT_OUTCOMES,
  AttemptOutcome,
  ATTEMPTS_KEPT,
  type JobAttempt,
} from '../model/job-attempt';
export { isTerminal, JOB_STATE_CODES, JOB_STATES, JobState, jobStateOf } from '../model/job-state';
export {
  type ClaimRef,
  type JobTransition,
  type TransitionResult,
  type TransitionTarget,
} from '../model/job-transition';
export {
  DEFAULT_PAGE_SIZE,
  type InstanceQuery,
  type InstanceSummary,
  type JobDetails,
  type JobQuery,
  type JobSummary,
  MAX_PAGE_SIZE,
  type Page,
  type PageRequest,
  pageSize,
  type RecurringQuery,
  type RecurringSummary,
  type Statistics,
  type TenantFilter,
} from '../model/monitoring';
export { type NodeRecord, type QueueRecord } from '../model/node';
export { decodeCursor, encodeCursor, InvalidCursorError } from '../model/page-cursor';
export {
  MISFIRE_CODES,
  MISFIRE_POLICIES,
  MisfirePolicy,
  type RecurringDefinition,
} from '../model/recurring-definition';
export {
  checkedRetry,
  nextRetryDelay,
  Retry,
  RETRY_KIND_CODES,
  RETRY_KINDS,
  RetryKind,
  type RetryPolicy,
} from '../model/retry';
export {
  DAY,
  type Duration,
  FakeClock,
  HOUR,
  IClock,
  later,
  latest,
  LATEST_INSTANT,
  type Milliseconds,
  MINUTE,
  SECOND,
  SystemClock,
  toMilliseconds,
} from '../model/time';
export {
  type Advance,
  type AdvanceEvent,
  INSTANCE_STATE_CODES,
  INSTANCE_STATES,
  type InstanceChange,
  InstanceState,
  type InstanceUpdate,
  isInstanceTerminal,
  type RunningStep,
  type ScopeCancellation,
  type WorkflowInstance,
} from '../model/workflow-instance';
