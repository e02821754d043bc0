import { Inject, Injectable } from '@nestjs/common';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../../millrace.options';
import type { EncodedPayload } from '../../model/payload';
import type { Advance, AdvanceEvent, InstanceChange, WorkflowInstance } from '../../model/workflow-instance';
import { advance } from '../execution/advance';
import { decodeCursor, emptyCursor, encodeCursor } from '../execution/cursor';
import type { WorkflowEvent } from '../execution/workflow-event';
import type { Progress, WorkflowFailure, WorkflowState } from '../execution/workflow-state';
import { type RegisteredWorkflow, WorkflowRegistry } from '../workflow-registry';
import { decodeDocument, encodeDocument, isSameDocument } from './documents';
import { StepRecords } from './step-records';

/** What a step has made of the document. */
export interface DocumentResult {
  /** The instance as the step was given it. */
  readonly given: WorkflowInstance;
  readonly after: unknown;
  readonly encoded: EncodedPayload;
}

/** One move of an instance: what has happened, and what goes with it. */
export interface MoveRequest {
  readonly event: WorkflowEvent;
  /** For a step that has succeeded: the `document` of its event is made from it. */
  readonly result?: DocumentResult | undefined;
  readonly traceParent?: string | null;
  /** Id of an operator's decision. */
  readonly decisionId?: string;
}

type RunnableWorkflow = Pick<RegisteredWorkflow, 'graph' | 'data'>;

/** Between the engine, which knows values, and storage, which knows texts. */
@Injectable()
export class InstanceMoves {
  constructor(
    @Inject(WorkflowRegistry) private readonly registry: WorkflowRegistry,
    @Inject(StepRecords) private readonly records: StepRecords,
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
  ) {}

  /** The definition that an instance runs on; undefined where this node lacks it, or has another shape of it. */
  definitionOf(instance: WorkflowInstance): RegisteredWorkflow | undefined {
    const found = this.registry.get(instance.definitionId, instance.definitionVersion);
    return found?.shapeHash === instance.shapeHash ? found : undefined;
  }

  /** A move as storage carries it out. Where this node lacks the definition, it moves nothing, unless it is a cancellation. */
  advance(request: MoveRequest): Advance {
    return (instance, event) => {
      const workflow = this.definitionOf(instance) ?? (request.event.kind === 'cancelled' ? unknownTo(instance) : null);
      return workflow === null ? null : this.change(workflow, instance, request, event);
    };
  }

  /** The first move of a new instance. */
  begin(workflow: RegisteredWorkflow, data: unknown): Progress {
    const state: WorkflowState = {
      state: 'Running',
      data,
      cursor: emptyCursor(),
      failure: null,
      suspendedReason: null,
    };
    const progress = advance(workflow.graph, state, { kind: 'started' });
    if (progress === null) throw new Error('The beginning of an instance has moved nothing.');
    return progress;
  }

  private change(
    workflow: RunnableWorkflow,
    instance: WorkflowInstance,
    request: MoveRequest,
    event: AdvanceEvent,
  ): InstanceChange | null {
    const current = new StoredState(workflow, instance);
    const happened: WorkflowEvent =
      event.kind === 'called' ? current.take(request) : { ...event, kind: 'scopesCancelled' };
    const progress = advance(workflow.graph, current, happened);
    return progress && this.written(workflow, instance, current, progress, request);
  }

  private written(
    workflow: RunnableWorkflow,
    instance: WorkflowInstance,
    current: StoredState,
    { next, steps, waits, endWaits, cancel }: Progress,
    { traceParent = null, decisionId }: MoveRequest,
  ): InstanceChange {
    const document =
      current.encodedOf(next.data) ?? encodeDocument(next.data, workflow.data, this.options.maxPayloadBytes);
    return {
      instance: {
        state: next.state,
        data: document.json,
        dataTypes: document.types,
        cursor: encodeCursor(next.cursor),
        suspendedReason: next.suspendedReason,
        failure: next.failure && JSON.stringify(next.failure),
        lastDecisionId: decisionId ?? instance.lastDecisionId,
      },
      enqueue: steps.map((step) => this.records.job(workflow.graph, instance, step, traceParent)),
      addBookmarks: waits.map((wait) => this.records.bookmark(instance, wait)),
      removeBookmarks: endWaits.length === 0 ? {} : { scopes: endWaits },
      cancel,
    };
  }
}

/** Enough of a definition to cancel an instance of it. */
function unknownTo({ definitionId, definitionVersion }: WorkflowInstance): RunnableWorkflow {
  return { graph: { definitionId, version: definitionVersion, start: '', nodes: new Map() }, data: undefined };
}

/** An instance as the engine sees it. The document is decoded once somebody looks at it, and its text kept if nobody changes it. */
class StoredState implements WorkflowState {
  readonly cursor;
  readonly failure;
  private document: { readonly value: unknown; readonly encoded: EncodedPayload } | undefined;

  constructor(
    private readonly workflow: RunnableWorkflow,
    private readonly instance: WorkflowInstance,
  ) {
    this.cursor = decodeCursor(instance.cursor);
    this.failure = instance.failure === null ? null : (JSON.parse(instance.failure) as WorkflowFailure);
  }

  get state(): WorkflowState['state'] {
    return this.instance.state;
  }

  get suspendedReason(): string | null {
    return this.instance.suspendedReason;
  }

  get data(): unknown {
    this.document ??= {
      value: decodeDocument(this.instance, this.workflow.data),
      encoded: { json: this.instance.data, types: this.instance.dataTypes },
    };
    return this.document.value;
  }

  /** Where nobody has written since the step was given the document, what it left is what there is; otherwise it is merged. */
  take({ event, result }: MoveRequest): WorkflowEvent {
    if (event.kind !== 'finished' || result === undefined) return event;
    if (isSameDocument(result.given, this.instance)) {
      this.document = { value: result.after, encoded: result.encoded };
      return event;
    }
    return { ...event, document: { before: decodeDocument(result.given, this.workflow.data), after: result.after } };
  }

  /** The text of a document that is known already. */
  encodedOf(value: unknown): EncodedPayload | undefined {
    if (this.document === undefined) return { json: this.instance.data, types: this.instance.dataTypes };
    return value === this.document.value ? this.document.encoded : undefined;
  }
}
