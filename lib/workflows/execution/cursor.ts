import type { JobId } from '../../model/ids';
import { encodePayload } from '../../model/payload';
import { revive } from '../../model/payload-types';
import type { InstanceState } from '../../model/workflow-instance';
import { parsePosition, type Position, positionText } from './position';
import type { SignalPayload } from './workflow-event';

/** Why a position waits for an operator. */
export const ParkReason = {
  /** A step with `onFailure(Suspend)` has exhausted its retries. */
  Step: 'step',
  /** The delivery of a signal has died, or its payload does not fit the schema. */
  Resume: 'resume',
  /** A condition, a collection, `correlate` or `bind` has thrown. */
  Code: 'code',
  /** A compensation has exhausted its retries. */
  Compensation: 'compensation',
} as const;
export type ParkReason = (typeof ParkReason)[keyof typeof ParkReason];

/** A position that goes on when an operator says how. */
export interface ParkedPosition {
  /** Counts the parkings of an instance from 1: a decision that names an older one does nothing. */
  readonly number: number;
  readonly reason: ParkReason;
  readonly position: Position;
  readonly error: string;
  /** The signal's payload that has been consumed, where there is one. */
  readonly payload?: SignalPayload;
}

/** A node that holds others and is open: it goes on when what it holds has ended. */
export type Frame =
  | { readonly kind: 'parallel'; readonly open: number }
  | {
      readonly kind: 'loop';
      /** Items, read once. */
      readonly count: number;
      /** Iterations begun so far: the index of the next one. */
      readonly opened: number;
      readonly open: number;
    }
  | {
      readonly kind: 'saga';
      /** Completed steps that have a compensation, oldest first, those of committed nested sagas in their place. */
      readonly completed: readonly string[];
    };

/** A saga, or the whole instance, on its way to its end. What it has to undo is the list of its frame, last first. */
export interface Unwinding {
  /** `cancelling`: storage is asked; `draining`: what runs is let finish; `compensating`: one undo after the other. */
  readonly stage: 'cancelling' | 'draining' | 'compensating';
  /** Jobs that are let finish. */
  readonly running: readonly JobId[];
  /** There was something to undo. */
  readonly undone: boolean;
  /** How the instance ends; null for a saga, which then fails what is around it. */
  readonly ending: Ending | null;
}

export interface Ending {
  readonly outcome: Extract<InstanceState, 'Failed' | 'Compensated'>;
  /** Whether what is completed in open sagas is undone before. */
  readonly undoes: boolean;
  /** Why it cannot be reopened then; null as long as it can. */
  readonly final: FinalReason | null;
}

/** Why a failed instance cannot be reopened. */
export const FinalReason = {
  /** A step with `onFailure(Terminate)` has ended it. */
  Terminated: 'terminated',
  /** An operator has ended it. */
  Decided: 'decided',
  /** What failed was a saga. */
  Saga: 'saga',
  /** A saga was undone when it failed. */
  Undone: 'undone',
} as const;
export type FinalReason = (typeof FinalReason)[keyof typeof FinalReason];

/** What a failed instance goes on with when it is reopened. */
export interface Stopped {
  /** Positions that begin again. */
  readonly again: readonly string[];
  /** Positions that ended while the instance did: what follows them begins. */
  readonly after: readonly string[];
  readonly parked: readonly ParkedPosition[];
}

/** Where an instance stands: what is open, and nothing of what has been. Positions are texts as `positionText` makes them. */
export interface Cursor {
  /** By the position of the node; under the empty text, the steps that a failing instance has to undo. */
  readonly frames: Readonly<Record<string, Frame>>;
  readonly waits: readonly string[];
  readonly parked: readonly ParkedPosition[];
  /** Parkings so far. */
  readonly parkings: number;
  /** Open jobs: steps, delays and compensations, but no deliveries of signals. */
  readonly active: number;
  /** By the key of the saga's frame, the empty text for the instance. */
  readonly unwinding: Readonly<Record<string, Unwinding>>;
  readonly stopped: Stopped | null;
  /** Of a failed instance without `stopped`. */
  readonly final: FinalReason | null;
}

export function emptyCursor(): Cursor {
  return { frames: {}, waits: [], parked: [], parkings: 0, active: 0, unwinding: {}, stopped: null, final: null };
}

// A format: cursors are stored. A reader of a later version tells by the number what it has before it.
const VERSION = 1;

/** The cursor as JSON text. What is empty is left out. */
export function encodeCursor(cursor: Cursor): string {
  const { frames, waits, parked, parkings, active, unwinding, stopped, final } = cursor;
  return JSON.stringify({
    v: VERSION,
    frames: isEmpty(frames) ? undefined : frames,
    waits: waits.length === 0 ? undefined : waits,
    parked: parked.length === 0 ? undefined : parked.map(storedParking),
    parkings: parkings || undefined,
    active: active || undefined,
    unwinding: isEmpty(unwinding) ? undefined : unwinding,
    stopped: stopped === null ? undefined : { ...stopped, parked: stopped.parked.map(storedParking) },
    final: final ?? undefined,
  });
}

/** @throws {Error} a later version of this library has written it */
export function decodeCursor(text: string): Cursor {
  const { v = VERSION, parked = [], stopped = null, ...stored } = JSON.parse(text) as StoredCursor;
  if (v !== VERSION) throw new Error(`The cursor has version ${v}, and this code reads version ${VERSION}.`);
  return {
    ...emptyCursor(),
    ...stored,
    parked: parked.map(readParking),
    stopped: stopped && { ...stopped, parked: stopped.parked.map(readParking) },
  };
}

interface StoredCursor extends Partial<Omit<Cursor, 'parked' | 'stopped'>> {
  readonly v?: number;
  readonly parked?: readonly StoredParking[];
  readonly stopped?: Omit<Stopped, 'parked'> & { readonly parked: readonly StoredParking[] };
}

/** A payload may hold what JSON lacks: its types stand beside it, as they do beside arguments. */
interface StoredParking extends Omit<ParkedPosition, 'position' | 'payload'> {
  readonly at: string;
  readonly undo?: true;
  readonly payload?: { readonly value: unknown; readonly types: string | null } | null;
}

function storedParking({ position, payload, ...parked }: ParkedPosition): StoredParking {
  return { ...parked, at: positionText(position), undo: position.undo, payload: payload && storedPayload(payload) };
}

function storedPayload({ value }: NonNullable<SignalPayload>): NonNullable<StoredParking['payload']> {
  const { json, types } = encodePayload(value, 'the payload of a parked signal', Infinity);
  return { value: JSON.parse(json) as unknown, types };
}

function readParking({ at, undo, payload, ...parked }: StoredParking): ParkedPosition {
  const position = undo ? { ...parsePosition(at), undo } : parsePosition(at);
  if (payload === undefined) return { ...parked, position };
  return { ...parked, position, payload: payload && { value: readPayload(payload) } };
}

function readPayload({ value, types }: NonNullable<StoredParking['payload']>): unknown {
  return types === null ? value : revive(value, types);
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}
