import {
  type Advance,
  type Bookmark,
  type DefinitionRegistration,
  type IClock,
  type InstanceId,
  IWorkflowStorage,
  type JobRecord,
  type NewInstance,
  type SignalDelivery,
  type TransactionHandle,
  type WorkflowDefinitionRecord,
  type WorkflowInstance,
} from '../../lib/storage';
import { expireBookmarks, getBookmarks, peekBookmark, signal } from './bookmarks';
import { createInstance } from './create-instance';
import type { Database, OperationFactory } from './database';
import { getDefinition, isRegistered, registerDefinition } from './definitions';
import type { Dialect } from './dialect';
import { getInstance, getInstances } from './get-instance';
import { advanceInstance } from './instances';

/** Workflow instances and their waits over a relational database. */
export class RelationalWorkflowStorage extends IWorkflowStorage {
  constructor(
    private readonly database: () => Database,
    private readonly dialect: Dialect,
    private readonly clock: IClock,
  ) {
    super();
  }

  override async registerDefinition(
    definition: WorkflowDefinitionRecord,
    replace: boolean,
  ): Promise<DefinitionRegistration> {
    if (await this.database().read(() => isRegistered(definition))) return { outcome: 'unchanged' };
    // Registering again what is registered changes nothing, so a lost answer is asked for again.
    return this.database().transaction(() => registerDefinition(definition, replace), {
      ifUnknown: 'retry',
      waitsFor: `workflow definition ${definition.id}@${definition.version}`,
    });
  }

  override async getDefinition(id: string, version: number): Promise<WorkflowDefinitionRecord | null> {
    return this.database().read(() => getDefinition(id, version));
  }

  override async createInstance(creation: NewInstance, transaction?: TransactionHandle): Promise<InstanceId> {
    const operation: OperationFactory<InstanceId> = ({ again }) =>
      createInstance(this.dialect, creation, this.now().getTime(), again);
    const { startKey, definitionId, definitionVersion } = creation.instance;
    const definition = `workflow definition ${definitionId}@${definitionVersion}`;
    const waitsFor = startKey === null ? definition : `start key "${startKey}" or ${definition}`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.database().transaction(operation, { ifUnknown: 'retry', waitsFor });
  }

  override async getInstance(id: InstanceId): Promise<WorkflowInstance | null> {
    return this.database().read(() => getInstance(id));
  }

  override async getInstances(ids: readonly InstanceId[]): Promise<WorkflowInstance[]> {
    return this.database().read(() => getInstances(ids));
  }

  override async advanceInstance(id: InstanceId, advance: Advance, transaction?: TransactionHandle): Promise<boolean> {
    const operation = () => advanceInstance(this.dialect, id, advance, this.now());
    const waitsFor = `workflow instance ${id}`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    // A decision finds its own id on the instance when it is run again, so that is the caller's to look at.
    return this.database().transaction(operation, { ifUnknown: 'fail', waitsFor });
  }

  override async signal(delivery: SignalDelivery, transaction?: TransactionHandle): Promise<boolean> {
    const operation: OperationFactory<boolean> = ({ again }) =>
      signal(this.dialect, delivery, this.now().getTime(), again);
    const waitsFor = `a wait for signal "${delivery.name}" with key "${delivery.correlationId}"`;
    if (transaction) return this.database().join(transaction, operation, waitsFor);
    return this.database().transaction(operation, { ifUnknown: 'retry', waitsFor });
  }

  override async peekBookmark(name: string, correlationId: string, tenantId: string | null): Promise<Bookmark | null> {
    return this.database().read(() => peekBookmark(name, correlationId, tenantId));
  }

  override async getBookmarks(instanceId: InstanceId): Promise<Bookmark[]> {
    return this.database().read(() => getBookmarks(instanceId));
  }

  override async expireBookmarks(limit: number, resume: (bookmark: Bookmark) => JobRecord): Promise<number> {
    return this.database().transaction(() => expireBookmarks(this.dialect, limit, resume, this.now().getTime()), {
      ifUnknown: 'retry',
    });
  }

  private now(): Date {
    return this.clock.now();
  }
}
