import { MillraceError } from '../model/errors';
import type { JobId } from '../model/ids';

/** Base of what a store reports about a call it understood and refused. Errors of the database itself pass through. */
export abstract class StorageError extends MillraceError {}

/** Thrown by enqueue and apply: a continuation names a parent that does not exist, or no longer. Nothing was written. */
export class ParentJobNotFoundError extends StorageError {
  readonly code = 'MILLRACE_PARENT_JOB_NOT_FOUND';

  constructor(
    readonly parentId: JobId,
    readonly jobId: JobId,
  ) {
    super(
      `Job ${jobId} continues ${parentId}, which does not exist. Enqueue the parent first, or enqueue without one.`,
    );
  }
}

/** Thrown by enqueue and apply: a continuation names a job of a workflow, whose steps the workflow alone decides. Nothing was written. */
export class WorkflowJobParentError extends StorageError {
  readonly code = 'MILLRACE_WORKFLOW_JOB_PARENT';

  constructor(
    readonly parentId: JobId,
    readonly jobId: JobId,
  ) {
    super(`Job ${jobId} continues ${parentId}, which is a step of a workflow. Add a step to the workflow instead.`);
  }
}

/** Thrown by enqueue and apply: a job of this id is stored already, or twice in the call. Nothing was written. */
export class DuplicateJobError extends StorageError {
  readonly code = 'MILLRACE_DUPLICATE_JOB';

  constructor(readonly jobId: JobId) {
    super(`A job ${jobId} exists already. Ids are minted per job: pass a new one.`);
  }
}

/** Thrown by createInstance: an instance of this id is stored already. Nothing was written. */
export class DuplicateInstanceError extends StorageError {
  readonly code = 'MILLRACE_DUPLICATE_INSTANCE';

  constructor(readonly instanceId: string) {
    super(`A workflow instance ${instanceId} exists already. Ids are minted per instance: pass a new one.`);
  }
}

/** Thrown by createInstance: the version that it would be started on has been registered with another shape since. Nothing was written. */
export class DefinitionChangedError extends StorageError {
  readonly code = 'MILLRACE_DEFINITION_CHANGED';

  constructor(
    readonly definitionId: string,
    readonly version: number,
  ) {
    super(
      `Another node has registered another graph as ${definitionId}@${version}, so this one starts no instances of it. ` +
        'Give the newer graph a version of its own, or restart this node with it.',
    );
  }
}

/** A transition is rejected with it: it moves an instance on that does not exist, or no longer. */
export class InstanceNotFoundError extends StorageError {
  readonly code = 'MILLRACE_INSTANCE_NOT_FOUND';

  constructor(
    readonly instanceId: string,
    readonly jobId: JobId,
  ) {
    super(
      `Job ${jobId} is a step of workflow instance ${instanceId}, which does not exist. Let the job end without it.`,
    );
  }
}

/** Thrown by advanceInstance and apply: an ended instance would live again while another one holds its start key. Nothing was written. */
export class InstanceKeyHeldError extends StorageError {
  readonly code = 'MILLRACE_INSTANCE_KEY_HELD';

  constructor(
    readonly instanceId: string,
    readonly holderId: string,
  ) {
    super(`Workflow instance ${instanceId} cannot live again: ${holderId} holds its start key. End that one first.`);
  }
}

/** Thrown by enqueue and apply for a record that no job can start as. Nothing was written. */
export class InvalidJobRecordError extends StorageError {
  readonly code = 'MILLRACE_INVALID_JOB_RECORD';
}

/** Thrown by upsertRecurring: the id belongs to a definition of another tenant. Nothing was written. */
export class RecurringTenantError extends StorageError {
  readonly code = 'MILLRACE_RECURRING_TENANT';

  constructor(readonly recurringId: string) {
    super(
      `Recurring definition "${recurringId}" belongs to another tenant. Recurring ids are global: choose another id.`,
    );
  }
}

/** Thrown for a `transaction` that is not open, is not of this store's database, or cannot be joined. Nothing was written. */
export class InvalidTransactionError extends StorageError {
  readonly code = 'MILLRACE_INVALID_TRANSACTION';
}

/** Thrown when somebody's open transaction kept a key, a parent or a bookmark locked for all of `lockTimeout`. Nothing was written. */
export class LockTimeoutError extends StorageError {
  readonly code = 'MILLRACE_LOCK_TIMEOUT';
}

/** Thrown when the connection was lost while committing and nothing can tell whether it committed. */
export class OutcomeUnknownError extends StorageError {
  readonly code = 'MILLRACE_OUTCOME_UNKNOWN';
}

/** Thrown at startup: the schema is missing, too old with `autoCreateSchema: false`, or too new for this code. */
export class SchemaVersionError extends StorageError {
  readonly code = 'MILLRACE_SCHEMA_VERSION';
}

/** Thrown at startup: a driver package is not installed. The message names the line to run. */
export class DriverNotInstalledError extends StorageError {
  readonly code = 'MILLRACE_DRIVER_NOT_INSTALLED';

  constructor(
    readonly driver: string,
    options?: ErrorOptions,
  ) {
    super(`The ${driver} package is not installed. Run: npm i ${driver}`, options);
  }
}

/** Thrown by every operation of a store that has not been opened, or has been closed. */
export class StorageClosedError extends StorageError {
  readonly code = 'MILLRACE_STORAGE_CLOSED';

  constructor(readonly provider: string) {
    super(`The ${provider} storage is not open. Start the application first, and enqueue nothing after it has closed.`);
  }
}
