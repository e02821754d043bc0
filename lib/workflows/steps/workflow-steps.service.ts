import { Inject, Injectable, Logger } from '@nestjs/common';
import { InvocationRunner } from '../../jobs/invocation-runner';
import type { JobExecution } from '../../jobs/job-execution';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../../millrace.options';
import type { Bookmark } from '../../model/bookmark';
import type { ClaimedJob, JobRecord } from '../../model/job';
import type { JobTransition } from '../../model/job-transition';
import { decodeArguments } from '../../model/payload';
import type { Advance, WorkflowInstance } from '../../model/workflow-instance';
import { IWorkflowStorage } from '../../storage/workflow-storage';
import { IWorkflowSteps } from '../../worker/workflow-steps';
import type { IActivity } from '../activity';
import { ActivityRegistry } from '../activity-registry';
import { decodePosition, type Position } from '../execution/position';
import type { SignalPayload, WorkflowEvent } from '../execution/workflow-event';
import type { GraphNode } from '../graph/graph';
import { type RegisteredWorkflow, workflowKey } from '../workflow-registry';
import { decodeDocument, encodeDocument } from './documents';
import { type DocumentResult, InstanceMoves } from './instance-moves';
import { checkPayload } from './schema-check';
import { StepExecution } from './step-execution';
import { StepRecords } from './step-records';

/** What running a step has brought. */
type StepResult =
  | { readonly kind: 'document'; readonly document: DocumentResult }
  | { readonly kind: 'payload'; readonly payload: SignalPayload }
  | { readonly kind: 'refused'; readonly payload: SignalPayload; readonly error: string };

const NO_ARGUMENTS = { args: '[]', argTypes: null };

/** The jobs that workflows are made of: activities and their compensations, delays, and deliveries of signals. */
@Injectable()
export class WorkflowSteps extends IWorkflowSteps {
  private readonly logger = new Logger('Millrace');
  /** Both live as long as the claim that they are about. */
  private readonly instances = new WeakMap<ClaimedJob, WorkflowInstance>();
  private readonly results = new WeakMap<ClaimedJob, StepResult>();

  constructor(
    @Inject(IWorkflowStorage) private readonly storage: IWorkflowStorage,
    @Inject(InstanceMoves) private readonly moves: InstanceMoves,
    @Inject(StepRecords) private readonly records: StepRecords,
    @Inject(ActivityRegistry) private readonly activities: ActivityRegistry,
    @Inject(InvocationRunner) private readonly invocations: InvocationRunner,
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
  ) {
    super();
  }

  override async load(jobs: readonly ClaimedJob[]): Promise<void> {
    const ids = new Set(jobs.map(({ instanceId }) => instanceId).filter((id) => id !== null));
    const found = new Map((await this.storage.getInstances([...ids])).map((instance) => [instance.id, instance]));
    for (const job of jobs) {
      const instance = found.get(job.instanceId ?? '');
      if (instance !== undefined) this.instances.set(job, instance);
    }
  }

  override missing(job: ClaimedJob): string | null {
    const instance = this.instances.get(job);
    if (instance === undefined || this.moves.definitionOf(instance) !== undefined) return null;
    const key = workflowKey(instance.definitionId, instance.definitionVersion);
    return `The node that claimed this job has no workflow ${key}, or another graph under that version.`;
  }

  override run(execution: JobExecution): Promise<void> {
    return this.invocations.perform(execution, async () => {
      const { job } = execution;
      const instance = this.instances.get(job);
      const workflow = instance && this.moves.definitionOf(instance);
      if (instance === undefined || workflow === undefined) {
        throw new Error(`Job ${job.id} is a step of workflow instance ${job.instanceId}, which does not exist.`);
      }
      const position = decodePosition(job.position ?? '');
      const node = nodeOf(workflow, position);
      if (node.kind === 'Activity') await this.runActivity(execution, workflow, instance, position, node);
      else if (node.kind === 'WaitForSignal') this.results.set(job, await receive(job, node));
    });
  }

  override advance(job: ClaimedJob, transition: JobTransition): Advance | null {
    const position = decodePosition(job.position ?? '');
    if (transition.target === 'Cancelled' && job.closing && job.attempt > 1) {
      this.logger.warn(
        `Job ${job.id} of workflow instance ${job.instanceId} vanished while its scope was ending; it counts as not completed.`,
      );
    }
    const result = this.results.get(job);
    return this.moves.advance({
      event: eventOf(job, position, transition, result),
      result: result?.kind === 'document' ? result.document : undefined,
      traceParent: job.traceParent,
    });
  }

  override resumeExpired({ tenantId }: Bookmark): JobRecord {
    return this.records.resume(tenantId, NO_ARGUMENTS, null);
  }

  private async runActivity(
    execution: JobExecution,
    workflow: RegisteredWorkflow,
    instance: WorkflowInstance,
    position: Position,
    node: Extract<GraphNode, { kind: 'Activity' }>,
  ): Promise<void> {
    const { name } = (position.undo ? node.compensation : null) ?? node.activity;
    const activity = this.activities.get(name);
    if (activity === undefined) throw new Error(`No provider of this node is the activity "${name}".`);
    const data = decodeDocument(instance, workflow.data);
    const context = new StepExecution(execution, workflow.graph, instance, position, data);
    await this.invocations.call(execution, activity.source, (service) => (service as IActivity).execute(context));
    const encoded = encodeDocument(data, workflow.data, this.options.maxPayloadBytes);
    this.results.set(execution.job, { kind: 'document', document: { given: instance, after: data, encoded } });
  }
}

function nodeOf({ graph, id, version }: RegisteredWorkflow, { node }: Position): GraphNode {
  const found = graph.nodes.get(node);
  if (found === undefined) throw new Error(`${workflowKey(id, version)} has no node ${node}.`);
  return found;
}

/** What a signal has carried, as the wait's schema leaves it. */
async function receive(job: ClaimedJob, node: Extract<GraphNode, { kind: 'WaitForSignal' }>): Promise<StepResult> {
  const payload = payloadOf(job);
  if (payload === null || node.schema === null) return { kind: 'payload', payload };
  const checked = await checkPayload(node.schema, payload.value);
  if ('value' in checked) return { kind: 'payload', payload: checked };
  return { kind: 'refused', payload, error: `The payload does not fit the schema: ${checked.issues.join('; ')}` };
}

function payloadOf({ args, argTypes }: ClaimedJob): SignalPayload {
  const values = decodeArguments(args, argTypes);
  return values.length === 0 ? null : { value: values[0] };
}

function eventOf(
  job: ClaimedJob,
  position: Position,
  { target, error }: JobTransition,
  result: StepResult | undefined,
): WorkflowEvent {
  const about = { position, jobId: job.id };
  switch (target) {
    case 'Succeeded':
      if (result === undefined || result.kind === 'document') return { kind: 'finished', ...about, document: null };
      if (result.kind === 'payload') return { kind: 'resumed', ...about, payload: result.payload };
      return { kind: 'refused', ...about, payload: result.payload, error: result.error };
    case 'Dead':
      return { kind: 'failed', ...about, error: error ?? 'It failed.', payload: deadPayloadOf(job) };
    case 'Failed':
    case 'Enqueued':
    case 'Scheduled':
    case 'Cancelled':
      return { kind: 'stopped', ...about };
  }
}

/** Of a job that cannot be run any more, perhaps because its arguments cannot be read. */
function deadPayloadOf(job: ClaimedJob): SignalPayload {
  try {
    return payloadOf(job);
  } catch {
    return null;
  }
}
