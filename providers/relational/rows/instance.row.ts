import {
  INSTANCE_STATE_CODES,
  INSTANCE_STATES,
  type InstanceState,
  type InstanceSummary,
  type WorkflowInstance,
} from '../../../lib/storage';
import type { Row } from '../operation';
import { epoch, instant, number, optionalEpoch, optionalInstant, optionalText, text } from './values';

export const INSTANCE_COLUMNS = [
  'id',
  'definition_id',
  'definition_version',
  'state',
  'data',
  'data_types',
  'cursor_json',
  'revision',
  'tenant_id',
  'start_key',
  'shape_hash',
  'suspended_reason',
  'failure',
  'last_decision_id',
  'created_at',
  'updated_at',
  'finished_at',
] as const;

export function instanceOf(row: Row): WorkflowInstance {
  return {
    id: text(row['id']),
    definitionId: text(row['definition_id']),
    definitionVersion: number(row['definition_version']),
    state: instanceStateOf(row['state']),
    data: text(row['data']),
    dataTypes: optionalText(row['data_types']),
    cursor: text(row['cursor_json']),
    revision: number(row['revision']),
    tenantId: optionalText(row['tenant_id']),
    startKey: optionalText(row['start_key']),
    shapeHash: text(row['shape_hash']),
    suspendedReason: optionalText(row['suspended_reason']),
    failure: optionalText(row['failure']),
    lastDecisionId: optionalText(row['last_decision_id']),
    createdAt: instant(row['created_at']),
    updatedAt: instant(row['updated_at']),
    finishedAt: optionalInstant(row['finished_at']),
  };
}

export function instanceToRow(instance: WorkflowInstance, activeStartKey: string | null) {
  return {
    id: instance.id,
    definition_id: instance.definitionId,
    definition_version: instance.definitionVersion,
    state: INSTANCE_STATE_CODES[instance.state],
    data: instance.data,
    data_types: instance.dataTypes,
    cursor_json: instance.cursor,
    revision: instance.revision,
    tenant_id: instance.tenantId,
    start_key: instance.startKey,
    active_start_key: activeStartKey,
    shape_hash: instance.shapeHash,
    suspended_reason: instance.suspendedReason,
    failure: instance.failure,
    last_decision_id: instance.lastDecisionId,
    created_at: epoch(instance.createdAt),
    updated_at: epoch(instance.updatedAt),
    finished_at: optionalEpoch(instance.finishedAt),
  } as const;
}

export const INSTANCE_SUMMARY_COLUMNS = [
  'id',
  'definition_id',
  'definition_version',
  'state',
  'tenant_id',
  'created_at',
  'updated_at',
  'revision',
] as const;

export function instanceSummaryOf(row: Row): InstanceSummary {
  return {
    id: text(row['id']),
    definitionId: text(row['definition_id']),
    definitionVersion: number(row['definition_version']),
    state: instanceStateOf(row['state']),
    tenantId: optionalText(row['tenant_id']),
    createdAt: instant(row['created_at']),
    updatedAt: instant(row['updated_at']),
    revision: number(row['revision']),
  };
}

export function instanceStateOf(code: unknown): InstanceState {
  const state = INSTANCE_STATES[number(code)];
  if (state === undefined) throw new RangeError(`${String(code)} is not the number of an instance state`);
  return state;
}
