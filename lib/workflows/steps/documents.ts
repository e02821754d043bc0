import { decodePayload, type EncodedPayload, encodePayload } from '../../model/payload';
import type { WorkflowInstance } from '../../model/workflow-instance';
import type { DataType } from '../workflow';

type StoredDocument = Pick<WorkflowInstance, 'data' | 'dataTypes'>;

/** The document of an instance, made anew at each call; an instance of the workflow's data class where it has one. */
export function decodeDocument({ data, dataTypes }: StoredDocument, type: DataType | undefined): unknown {
  const value = decodePayload(data, dataTypes);
  return type === undefined || !isRecord(value) ? value : withProperties(type.prototype as object, value);
}

/**
 * A document as it is stored.
 *
 * @throws {InvalidPayloadError} it cannot be stored; the message names the path
 */
export function encodeDocument(value: unknown, type: DataType | undefined, maxBytes: number): EncodedPayload {
  const isInstance = type !== undefined && isRecord(value) && Object.getPrototypeOf(value) === type.prototype;
  return encodePayload(
    isInstance ? withProperties(Object.prototype, value) : value,
    "the workflow's document",
    maxBytes,
  );
}

/** Whether two stored documents are the same text. */
export function isSameDocument(a: StoredDocument, b: StoredDocument): boolean {
  return a.data === b.data && a.dataTypes === b.dataTypes;
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object of that prototype, with these own properties, whatever they are called. No constructor runs. */
function withProperties(prototype: object, properties: object): object {
  return Object.defineProperties(Object.create(prototype) as object, Object.getOwnPropertyDescriptors(properties));
}
