import type { TransactionOptions } from '../jobs/enqueue-options';
import type { InstanceId } from '../model/ids';
import type { CompensationRecovery, StepRecovery } from './execution/workflow-event';
import type { InstanceDetails } from './instance-details';
import type { WorkflowType } from './workflow';

export interface StartOptions extends TransactionOptions {
  /** Default: the newest version of the id that this application has. */
  version?: number;
  /**
   * At most one live instance per key, definition and tenant: while there is one, nothing is stored and its id is answered.
   * Up to 512 characters.
   */
  key?: string;
}

export interface SignalOptions extends TransactionOptions {
  /** Whose waits are meant; null for those without tenant. Default: the ambient tenant. */
  tenant?: string | null;
}

/** Which parked position a decision is about. */
export interface DecisionOptions extends TransactionOptions {
  /** As `getInstance` names it, `each1.3/a2`. Needed where several are parked. */
  position?: string;
  /** Number of the parking. A decision about an older one does nothing: two operators who decide at once decide once. */
  park?: number;
}

/** Starts workflows and tells them what has happened. Inject it by this class. Calls by instance id are not checked for the tenant. */
export abstract class IWorkflowClient {
  /**
   * Starts an instance. It is stored together with its first jobs, so that it can never exist with nothing to move it on.
   *
   * @param workflow id, or class, of a workflow of this application
   * @param data the document: a plain object, or an instance of the workflow's data class
   * @returns its id; with `key`, perhaps that of the live instance that holds it
   * @throws {WorkflowNotFoundError} this application has no such workflow or version
   * @throws {InvalidPayloadError} the document cannot be stored, with the path named
   * @throws {DefinitionChangedError} another node has registered another graph under that version
   */
  abstract start<TData>(
    workflow: string | WorkflowType<TData>,
    data: TData,
    options?: StartOptions,
  ): Promise<InstanceId>;

  /**
   * Ends the oldest wait for this signal and key. Of two senders for one wait one gets false.
   *
   * @param payload what the wait's `bind` is given; without one it is not called
   * @returns false if nobody waits: nothing is stored then, and nothing remembers the signal
   * @throws {SignalRefusedError} the payload does not fit the wait's schema; the wait stays
   * @throws {InvalidPayloadError} the payload cannot be stored, with the path named
   */
  abstract signal(name: string, correlationId: string, payload?: unknown, options?: SignalOptions): Promise<boolean>;

  /** Where an instance stands; null when there is none. */
  abstract getInstance(id: InstanceId): Promise<InstanceDetails | null>;

  /** The document of an instance, an instance of the workflow's data class where this node knows it; null when there is none. */
  abstract getData<TData = unknown>(id: InstanceId): Promise<TData | null>;

  /**
   * Stops an instance: no step begins any more, running ones are aborted, waits are removed, nothing is undone.
   *
   * @returns false when it has ended already, or there is none
   */
  abstract cancel(id: InstanceId, options?: TransactionOptions): Promise<boolean>;

  /**
   * Decides what becomes of a parked step, delivery or piece of code.
   *
   * @returns false when nothing is parked there any more
   * @throws {InvalidDecisionError} several are parked and none is named, or this one does not allow that action
   * @throws {WorkflowNotFoundError} this node lacks the instance's version
   */
  abstract resolve(id: InstanceId, action: StepRecovery, options?: DecisionOptions): Promise<boolean>;

  /**
   * Decides what becomes of a compensation that has failed.
   *
   * @returns false when none is parked there any more
   * @throws {InvalidDecisionError} several are parked and none is named, or the action is none for compensations
   * @throws {WorkflowNotFoundError} this node lacks the instance's version
   */
  abstract recoverCompensation(
    id: InstanceId,
    action: CompensationRecovery,
    options?: DecisionOptions,
  ): Promise<boolean>;

  /**
   * Takes up an instance that failed by a step outside any saga: that step begins again, with all that was stopped with it.
   * Waits get new bookmarks with their full timeout.
   *
   * @returns false when there is none, or it is live (again)
   * @throws {WorkflowNotRetryableError} it ended in another way, or something was undone
   * @throws {InstanceKeyHeldError} another live instance holds its key by now
   * @throws {WorkflowNotFoundError} this node lacks the instance's version
   */
  abstract retry(id: InstanceId, options?: TransactionOptions): Promise<boolean>;
}
