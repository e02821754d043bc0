import { Inject, Injectable } from '@nestjs/common';
import { callerTransaction } from '../jobs/caller-transaction';
import { checkedTransactionOptions, type TransactionOptions } from '../jobs/enqueue-options';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { refuseUnknownNames, unexpected } from '../model/checks';
import { type InstanceId, newId, parseId } from '../model/ids';
import { checkedName, checkedNameOrNull } from '../model/names';
import { encodeArguments } from '../model/payload';
import { type Advance, isInstanceTerminal, type WorkflowInstance } from '../model/workflow-instance';
import { OutcomeUnknownError } from '../storage/storage.errors';
import { IWorkflowStorage } from '../storage/workflow-storage';
import { encodeCursor } from './execution/cursor';
import { decodePosition } from './execution/position';
import { CompensationRecovery, type Decision, StepRecovery, type WorkflowEvent } from './execution/workflow-event';
import { type InstanceDetails, instanceDetails } from './instance-details';
import { decodeDocument, encodeDocument } from './steps/documents';
import { InstanceMoves } from './steps/instance-moves';
import { checkPayload } from './steps/schema-check';
import { StepRecords } from './steps/step-records';
import type { WorkflowType } from './workflow';
import {
  type DecisionOptions,
  IWorkflowClient,
  type SignalOptions,
  type StartOptions,
} from './workflow-client.interface';
import { SignalRefusedError, WorkflowNotFoundError } from './workflow.errors';
import { type RegisteredWorkflow, workflowKey, WorkflowRegistry } from './workflow-registry';

const START_OPTIONS: ReadonlySet<string> = new Set(['version', 'key', 'transaction']);
const SIGNAL_OPTIONS: ReadonlySet<string> = new Set(['tenant', 'transaction']);
const MOST_TRIES = 3;
const DECISION_OPTIONS: ReadonlySet<string> = new Set(['position', 'park', 'transaction']);

@Injectable()
export class WorkflowClient extends IWorkflowClient {
  constructor(
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
    @Inject(IWorkflowStorage) private readonly storage: IWorkflowStorage,
    @Inject(WorkflowRegistry) private readonly registry: WorkflowRegistry,
    @Inject(InstanceMoves) private readonly moves: InstanceMoves,
    @Inject(StepRecords) private readonly records: StepRecords,
  ) {
    super();
  }

  override async start<TData>(
    target: string | WorkflowType<TData>,
    data: TData,
    options: StartOptions = {},
  ): Promise<InstanceId> {
    refuseUnknownNames(options, START_OPTIONS, 'start');
    const workflow = this.registry.find(target, options.version);
    const key = options.key === undefined ? null : checkedName(options.key, 'start key');
    const transaction = callerTransaction(options, this.options);
    return this.storage.createInstance(this.newInstance(workflow, data, key), transaction);
  }

  override async signal(
    name: string,
    correlationId: string,
    payload?: unknown,
    options: SignalOptions = {},
  ): Promise<boolean> {
    refuseUnknownNames(options, SIGNAL_OPTIONS, 'signal');
    const [signalName, key] = [checkedName(name, 'signal name'), checkedName(correlationId, 'correlation id')];
    const tenantId = options.tenant === undefined ? this.tenant() : checkedNameOrNull(options.tenant, 'tenant');
    const carried = payload === undefined || payload === null ? [] : [payload];
    const { json: args, types: argTypes } = encodeArguments(carried, this.options.maxPayloadBytes);
    const transaction = callerTransaction(options, this.options);
    if (carried.length > 0 && this.registry.checksSignal(signalName)) {
      await this.checkSchema(signalName, key, tenantId, payload);
    }
    const job = this.records.resume(tenantId, { args, argTypes }, null);
    return this.storage.signal({ name: signalName, correlationId: key, tenantId, job }, transaction);
  }

  override async getInstance(id: InstanceId): Promise<InstanceDetails | null> {
    const instanceId = checkedInstanceId(id);
    const instance = await this.storage.getInstance(instanceId);
    if (instance === null) return null;
    const bookmarks = isInstanceTerminal(instance.state) ? [] : await this.storage.getBookmarks(instanceId);
    return instanceDetails(instance, bookmarks);
  }

  override async getData<TData>(id: InstanceId): Promise<TData | null> {
    const instance = await this.storage.getInstance(checkedInstanceId(id));
    if (instance === null) return null;
    const workflow = this.registry.get(instance.definitionId, instance.definitionVersion);
    return decodeDocument(instance, workflow?.data) as TData;
  }

  override async cancel(id: InstanceId, options?: TransactionOptions): Promise<boolean> {
    checkedTransactionOptions(options, 'cancel');
    return this.move(checkedInstanceId(id), { kind: 'cancelled' }, options);
  }

  override async resolve(id: InstanceId, action: StepRecovery, options: DecisionOptions = {}): Promise<boolean> {
    if (!Object.hasOwn(StepRecovery, action)) throw unexpected('the action', namesOf(StepRecovery), action);
    return this.decide(id, { about: 'step', action }, options);
  }

  override async recoverCompensation(
    id: InstanceId,
    action: CompensationRecovery,
    options: DecisionOptions = {},
  ): Promise<boolean> {
    if (!Object.hasOwn(CompensationRecovery, action)) {
      throw unexpected('the action', namesOf(CompensationRecovery), action);
    }
    return this.decide(id, { about: 'compensation', action }, options);
  }

  override async retry(id: InstanceId, options?: TransactionOptions): Promise<boolean> {
    checkedTransactionOptions(options, 'retry');
    return this.move(checkedInstanceId(id), { kind: 'reopened' }, options);
  }

  private newInstance(workflow: RegisteredWorkflow, data: unknown, startKey: string | null) {
    const now = this.options.clock.now();
    const { json, types } = encodeDocument(data, workflow.data, this.options.maxPayloadBytes);
    const document = decodeDocument({ data: json, dataTypes: types }, workflow.data);
    const { next, steps, waits } = this.moves.begin(workflow, document);
    const owner = { id: newId(now), tenantId: this.tenant() };
    const instance: WorkflowInstance = {
      ...owner,
      definitionId: workflow.id,
      definitionVersion: workflow.version,
      state: next.state,
      data: json,
      dataTypes: types,
      cursor: encodeCursor(next.cursor),
      revision: 1,
      startKey,
      shapeHash: workflow.shapeHash,
      suspendedReason: next.suspendedReason,
      failure: null,
      lastDecisionId: null,
      createdAt: now,
      updatedAt: now,
      finishedAt: isInstanceTerminal(next.state) ? now : null,
    };
    return {
      instance,
      jobs: steps.map((step) => this.records.job(workflow.graph, owner, step, null)),
      bookmarks: waits.map((wait) => this.records.bookmark(owner, wait)),
    };
  }

  /** Before the bookmark is consumed, as far as this node knows the wait. Whoever delivers the signal looks again. */
  private async checkSchema(name: string, key: string, tenantId: string | null, payload: unknown): Promise<void> {
    const bookmark = await this.storage.peekBookmark(name, key, tenantId);
    const instance = bookmark && (await this.storage.getInstance(bookmark.instanceId));
    const workflow = instance && this.moves.definitionOf(instance);
    if (!bookmark || !workflow) return;
    const node = workflow.graph.nodes.get(decodePosition(bookmark.position).node);
    if (node?.kind !== 'WaitForSignal' || node.schema === null) return;
    const checked = await checkPayload(node.schema, payload);
    if ('issues' in checked) throw new SignalRefusedError(name, checked.issues);
  }

  private async decide(
    id: InstanceId,
    what: Pick<Decision, 'about' | 'action'>,
    options: DecisionOptions,
  ): Promise<boolean> {
    refuseUnknownNames(options, DECISION_OPTIONS, what.about === 'step' ? 'resolve' : 'recoverCompensation');
    const { position = null, park = null } = options;
    return this.move(checkedInstanceId(id), { kind: 'decided', decision: { ...what, position, park } }, options);
  }

  /** Carried out once, though its answer may be lost and it is asked for again: it finds its own id on the instance then. */
  private async move(id: InstanceId, event: WorkflowEvent, options: TransactionOptions | undefined): Promise<boolean> {
    const transaction = callerTransaction(options, this.options);
    const decisionId = newId(this.options.clock.now());
    const advance = this.moves.advance({ event, decisionId });
    let wasMoved = false;
    const once: Advance = (instance, called) => {
      wasMoved = called.kind === 'called' && instance.lastDecisionId === decisionId;
      if (wasMoved) return null;
      this.requireDefinition(instance, event);
      return advance(instance, called);
    };
    for (let tries = 1; ; tries++) {
      try {
        return (await this.storage.advanceInstance(id, once, transaction)) || wasMoved;
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError) || transaction !== undefined || tries === MOST_TRIES) throw error;
      }
    }
  }

  private requireDefinition(instance: WorkflowInstance, event: WorkflowEvent): void {
    const needless = event.kind === 'cancelled' || (event.kind === 'decided' && isInstanceTerminal(instance.state));
    if (needless || this.moves.definitionOf(instance) !== undefined) return;
    const key = workflowKey(instance.definitionId, instance.definitionVersion);
    throw new WorkflowNotFoundError(
      `This node has no workflow ${key}, or another graph under that version, so it cannot move instance ${instance.id}. ` +
        'Ask a node that has it.',
    );
  }

  private tenant(): string | null {
    return checkedNameOrNull(this.options.tenants.current(), 'tenant');
  }
}

function checkedInstanceId(id: InstanceId): InstanceId {
  const parsed = typeof id === 'string' ? parseId(id) : null;
  if (parsed === null) throw unexpected('the instance id', 'a UUID as start answers it', id);
  return parsed;
}

function namesOf(actions: object): string {
  return `one of ${Object.keys(actions).join(', ')}`;
}
