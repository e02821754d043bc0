import type { Bookmark } from '../model/bookmark';
import type { InstanceId } from '../model/ids';
import type { InstanceState, WorkflowInstance } from '../model/workflow-instance';
import { decodeCursor, type ParkedPosition, type ParkReason } from './execution/cursor';
import { decodePosition, positionText, scopeOf } from './execution/position';
import type { WorkflowFailure } from './execution/workflow-state';

/** A wait that is open. */
export interface OpenWait {
  /** Scope and node, `each1.3/sig1`. */
  readonly position: string;
  readonly node: string;
  readonly signalName: string;
  readonly correlationId: string;
  /** When it gives up; null for never. */
  readonly expiresAt: Date | null;
}

/** A position that goes on when an operator decides. */
export interface ParkedStep {
  /** Names this parking in a decision. */
  readonly number: number;
  readonly reason: ParkReason;
  /** Scope and node, `each1.3/a2`. */
  readonly position: string;
  readonly node: string;
  readonly error: string;
}

/** A workflow instance as applications see it. */
export interface InstanceDetails {
  readonly id: InstanceId;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly state: InstanceState;
  /** Business key that it was started with. */
  readonly key: string | null;
  readonly tenantId: string | null;
  /** A sentence; null unless it is Suspended. */
  readonly suspendedReason: string | null;
  /** What ended it, or is ending it; null where nothing has failed for good. */
  readonly failure: WorkflowFailure | null;
  readonly waits: readonly OpenWait[];
  readonly parked: readonly ParkedStep[];
  readonly createdAt: Date;
  /** Last checkpoint. */
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
}

export function instanceDetails(instance: WorkflowInstance, bookmarks: readonly Bookmark[]): InstanceDetails {
  const { id, definitionId, definitionVersion, state, startKey, tenantId, suspendedReason, failure } = instance;
  const { createdAt, updatedAt, finishedAt } = instance;
  return {
    id,
    definitionId,
    definitionVersion,
    state,
    key: startKey,
    tenantId,
    suspendedReason,
    failure: failure === null ? null : (JSON.parse(failure) as WorkflowFailure),
    waits: bookmarks.map(openWait),
    parked: decodeCursor(instance.cursor).parked.map(parkedStep),
    createdAt,
    updatedAt,
    finishedAt,
  };
}

function openWait({ position, signalName, correlationId, expiresAt }: Bookmark): OpenWait {
  const at = decodePosition(position);
  return { position: positionText(at), node: at.node, signalName, correlationId, expiresAt };
}

function parkedStep({ number, reason, position, error }: ParkedPosition): ParkedStep {
  return { number, reason, position: scopeOf(position.path) + position.node, node: position.node, error };
}
