import type { Bookmark } from '../model/bookmark';
import type { JobRecord } from '../model/job';
import type { IClock } from '../model/time';
import type { WorkflowDefinitionRecord } from '../model/workflow-definition';
import type {
  Advance,
  InstanceChange,
  InstanceUpdate,
  ScopeCancellation,
  WorkflowInstance,
} from '../model/workflow-instance';
import type { SignalDelivery } from '../storage/workflow-storage';
import { aJob, anId } from './builders';

export function anInstance(clock: IClock, fields: Partial<WorkflowInstance> = {}): WorkflowInstance {
  const createdAt = fields.createdAt ?? clock.now();
  return {
    id: anId(clock, createdAt),
    definitionId: 'onboarding',
    definitionVersion: 1,
    state: 'Running',
    data: '{}',
    dataTypes: null,
    cursor: '{}',
    revision: 1,
    tenantId: null,
    startKey: null,
    shapeHash: 'shape',
    suspendedReason: null,
    failure: null,
    lastDecisionId: null,
    createdAt,
    updatedAt: createdAt,
    finishedAt: null,
    ...fields,
  };
}

/** The version that {@link anInstance} is of, in its shape. */
export function aWorkflowDefinition(
  clock: IClock,
  fields: Partial<WorkflowDefinitionRecord> = {},
): WorkflowDefinitionRecord {
  return {
    id: 'onboarding',
    version: 1,
    shapeHash: 'shape',
    graph: '{"start":"a1"}',
    registeredAt: clock.now(),
    ...fields,
  };
}

/** A job of the instance, at the root scope. */
export function aStep(clock: IClock, instance: WorkflowInstance, fields: Partial<JobRecord> = {}): JobRecord {
  return aJob(clock, {
    instanceId: instance.id,
    tenantId: instance.tenantId,
    position: '{"node":"a1","path":[]}',
    scope: '',
    ...fields,
  });
}

/** A wait of the instance for signal `approval` with key `order-1`, at the root scope. */
export function aBookmark(clock: IClock, instance: WorkflowInstance, fields: Partial<Bookmark> = {}): Bookmark {
  const createdAt = fields.createdAt ?? clock.now();
  return {
    id: anId(clock, createdAt),
    instanceId: instance.id,
    tenantId: instance.tenantId,
    signalName: 'approval',
    correlationId: 'order-1',
    position: '{"node":"sig1","path":[]}',
    scope: '',
    expiresAt: null,
    createdAt,
    ...fields,
  };
}

/** Signal `approval` with key `order-1`, and the resume job of its sender. */
export function aSignal(clock: IClock, fields: Partial<SignalDelivery> = {}): SignalDelivery {
  return {
    name: 'approval',
    correlationId: 'order-1',
    tenantId: null,
    job: aJob(clock, { handler: 'Conformance.resume' }),
    ...fields,
  };
}

type ChangeParts = Partial<Omit<InstanceChange, 'instance'>> & { readonly update?: Partial<InstanceUpdate> };

/** The instance as it is, but for what is given. */
export function changeOf(instance: WorkflowInstance, { update = {}, ...parts }: ChangeParts = {}): InstanceChange {
  const { state, data, dataTypes, cursor, suspendedReason, failure, lastDecisionId } = instance;
  return {
    instance: { state, data, dataTypes, cursor, suspendedReason, failure, lastDecisionId, ...update },
    enqueue: [],
    addBookmarks: [],
    removeBookmarks: {},
    cancel: null,
    ...parts,
  };
}

/** An advance that makes this change when it is called, and nothing of its cancellation's outcome. */
export function changing(parts: ChangeParts): Advance {
  return (instance, event) => (event.kind === 'called' ? changeOf(instance, parts) : null);
}

/** An advance that cancels these scopes, and asks for nothing once they are. */
export function cancelling(scopes: readonly string[], running: ScopeCancellation['running'] = 'abort'): Advance {
  return changing({ cancel: { scopes, running } });
}

/** An advance that sets one property of the document, whatever else is in it by then. */
export function setting(property: string, value: unknown, parts: ChangeParts = {}): Advance {
  return (instance, event) => {
    if (event.kind !== 'called') return null;
    const data = JSON.stringify({ ...documentOf(instance), [property]: value });
    return changeOf(instance, { ...parts, update: { data, ...parts.update } });
  };
}

export function documentOf(instance: WorkflowInstance): Record<string, unknown> {
  return JSON.parse(instance.data) as Record<string, unknown>;
}
