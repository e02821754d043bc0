import type { Bookmark } from '../../model/bookmark';
import type { InstanceId } from '../../model/ids';
import type { JobRecord } from '../../model/job';
import type { DefinitionRegistration, WorkflowDefinitionRecord } from '../../model/workflow-definition';
import type { Advance, WorkflowInstance } from '../../model/workflow-instance';
import type { TransactionHandle } from '../transaction-handle';
import { IWorkflowStorage, type NewInstance, type SignalDelivery } from '../workflow-storage';
import { advanceInstance } from './advance';
import { expireBookmarks, signal } from './bookmarks';
import type { CallerTransactions } from './caller-transactions';
import { copyBookmark, copyInstance, copyWorkflowDefinition } from './copies';
import type { Database } from './database';
import { registerDefinition } from './definitions';
import { createInstance } from './instances';

/** Workflow instances and their waits in memory. */
export class InMemoryWorkflowStorage extends IWorkflowStorage {
  constructor(
    private readonly db: Database,
    private readonly callers: CallerTransactions,
  ) {
    super();
  }

  override registerDefinition(definition: WorkflowDefinitionRecord, replace: boolean): Promise<DefinitionRegistration> {
    return this.db.run((tables) => registerDefinition(tables, definition, replace));
  }

  override getDefinition(id: string, version: number): Promise<WorkflowDefinitionRecord | null> {
    return this.db.run(({ definitions }) => {
      const definition = definitions.get(id, version);
      return definition === undefined ? null : copyWorkflowDefinition(definition);
    });
  }

  override async createInstance(creation: NewInstance, transaction?: TransactionHandle): Promise<InstanceId> {
    this.callers.check(transaction);
    return this.db.run((tables, now) => createInstance(tables, creation, now));
  }

  override async getInstance(id: InstanceId): Promise<WorkflowInstance | null> {
    const [instance] = await this.getInstances([id]);
    return instance ?? null;
  }

  override getInstances(ids: readonly InstanceId[]): Promise<WorkflowInstance[]> {
    return this.db.run(({ instances }) => {
      const found = [...new Set(ids)].map((id) => instances.get(id)).filter((instance) => instance !== undefined);
      return found.map(({ record }) => copyInstance(record));
    });
  }

  override async advanceInstance(id: InstanceId, advance: Advance, transaction?: TransactionHandle): Promise<boolean> {
    this.callers.check(transaction);
    return this.db.run((tables, now) => advanceInstance(tables, id, advance, new Set(), now));
  }

  override async signal(delivery: SignalDelivery, transaction?: TransactionHandle): Promise<boolean> {
    this.callers.check(transaction);
    return this.db.run((tables, now) => signal(tables, delivery, now));
  }

  override peekBookmark(name: string, correlationId: string, tenantId: string | null): Promise<Bookmark | null> {
    return this.db.run(({ bookmarks }) => {
      const bookmark = bookmarks.oldest(name, correlationId, tenantId);
      return bookmark ? copyBookmark(bookmark) : null;
    });
  }

  override getBookmarks(instanceId: InstanceId): Promise<Bookmark[]> {
    return this.db.run(({ bookmarks }) => bookmarks.ofInstance(instanceId).map(copyBookmark));
  }

  override expireBookmarks(limit: number, resume: (bookmark: Bookmark) => JobRecord): Promise<number> {
    return this.db.run((tables, now) => expireBookmarks(tables, limit, resume, now));
  }
}
