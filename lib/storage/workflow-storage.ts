import type { Bookmark } from '../model/bookmark';
import type { InstanceId } from '../model/ids';
import type { JobRecord } from '../model/job';
import type { DefinitionRegistration, WorkflowDefinitionRecord } from '../model/workflow-definition';
import type { Advance, WorkflowInstance } from '../model/workflow-instance';
import type { TransactionHandle } from './transaction-handle';

/** An instance and everything that has to exist with it. */
export interface NewInstance {
  readonly instance: WorkflowInstance;
  readonly jobs: readonly JobRecord[];
  readonly bookmarks: readonly Bookmark[];
}

/** A signal on its way to whoever waits for it. */
export interface SignalDelivery {
  readonly name: string;
  readonly correlationId: string;
  readonly tenantId: string | null;
  /** The resume job; storage takes its `instanceId`, `position` and `scope` from the bookmark that it consumes. */
  readonly job: JobRecord;
}

/** Workflow instances and their waits: what a provider implements of them. The rules of {@link IJobStorage} hold here too. */
export abstract class IWorkflowStorage {
  /**
   * Stores which shape a version of a workflow has, or brings its graph up to date where the shape is the same. Another shape
   * replaces the stored one if `replace` is set or if no live instance of that version stands in a shape other than this.
   * Of several nodes at once each gets an answer that fits one order; against a start, too, there is one order: a replacement
   * waits for the transactions that have started an instance of this version. What is registered already waits for nobody.
   *
   * @throws {LockTimeoutError} one of those transactions stayed open
   */
  abstract registerDefinition(definition: WorkflowDefinitionRecord, replace: boolean): Promise<DefinitionRegistration>;

  abstract getDefinition(id: string, version: number): Promise<WorkflowDefinitionRecord | null>;

  /**
   * Stores an instance with its first jobs and waits, in one transaction. Its revision is 1, whatever was passed.
   *
   * @returns its id, or the id of the live instance that holds (tenant, definition, `startKey`); then nothing is stored
   * @throws {DuplicateInstanceError} the id is stored already
   * @throws {DefinitionChangedError} its version is registered, and with another shape
   * @throws {LockTimeoutError} the start key stayed locked by somebody's transaction
   */
  abstract createInstance(creation: NewInstance, transaction?: TransactionHandle): Promise<InstanceId>;

  abstract getInstance(id: InstanceId): Promise<WorkflowInstance | null>;

  /** Several at once, for the documents of a claimed batch; unknown ids are left out. */
  abstract getInstances(ids: readonly InstanceId[]): Promise<WorkflowInstance[]>;

  /**
   * Calls `advance` under the lock of the instance and writes what it returns, in one transaction. Waits for the lock.
   *
   * @returns true when something moved; false when `advance` answered null or the instance is unknown
   * @throws {LockTimeoutError} the instance stayed locked by somebody's transaction
   */
  abstract advanceInstance(id: InstanceId, advance: Advance, transaction?: TransactionHandle): Promise<boolean>;

  /**
   * Delivers a signal to the oldest matching wait: consumes its bookmark and stores the resume job, in one transaction.
   * Waits for a locked bookmark and looks again: of two concurrent senders for one wait, one gets false.
   *
   * @returns false if and only if nobody waits; nothing is stored then
   * @throws {LockTimeoutError} the bookmark stayed locked by somebody's transaction
   */
  abstract signal(delivery: SignalDelivery, transaction?: TransactionHandle): Promise<boolean>;

  /** The bookmark that a signal would consume next, for checks that come before its consumption; null when nobody waits. */
  abstract peekBookmark(name: string, correlationId: string, tenantId: string | null): Promise<Bookmark | null>;

  abstract getBookmarks(instanceId: InstanceId): Promise<Bookmark[]>;

  /**
   * Ends waits whose `expiresAt` has come: consumes each bookmark and stores the job that `resume` makes for it, in one
   * transaction. Skips locked ones.
   *
   * @param resume pure and synchronous; storage takes the job's `instanceId`, `position` and `scope` from the bookmark
   * @returns how many waits were ended
   */
  abstract expireBookmarks(limit: number, resume: (bookmark: Bookmark) => JobRecord): Promise<number>;
}
