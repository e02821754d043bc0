import { types as inspect } from 'node:util';
import { shown } from '../../model/checks';
import { InvalidArgumentError } from '../../model/errors';
import { failureText } from '../../model/failure-text';
import { checkedName } from '../../model/names';
import type { ForEachNode, IfNode, WaitNode } from '../graph/graph';
import { copyDocument } from './copy-document';

/** What a function of the definition has answered, or why it has not. */
export type Answer<T> = { readonly value: T } | { readonly error: string };

// Conditions, collections and correlate are given the document itself, not a copy: they are to be pure.

export function conditionOf(node: IfNode, data: unknown): Answer<boolean> {
  return ask(() => Boolean(synchronous(node.condition(data), 'The condition')));
}

/** How many items a loop goes over. */
export function countOf(node: ForEachNode, data: unknown): Answer<number> {
  return ask(() => sizeOf(synchronous(node.collection(data), 'The collection')));
}

export function correlationOf(node: WaitNode, data: unknown): Answer<string> {
  return ask(() => checkedName(synchronous(node.correlate(data), 'correlate'), 'correlation id'));
}

/** The document with a signal's payload in it: a copy. */
export function bound(node: WaitNode, data: unknown, payload: unknown): Answer<unknown> {
  return ask(() => {
    const copy = copyDocument(data);
    synchronous(node.bind(copy, copyDocument(payload)), 'bind');
    return copy;
  });
}

function ask<T>(question: () => T): Answer<T> {
  try {
    return { value: question() };
  } catch (error) {
    return { error: failureText(error) };
  }
}

/** Nobody waits for a promise here, and nobody else will handle its rejection. */
function synchronous(value: unknown, what: string): unknown {
  if (!inspect.isPromise(value)) return value;
  value.catch(() => undefined);
  throw new InvalidArgumentError(`${what} returned a promise. Code of a definition must be synchronous.`);
}

function sizeOf(collection: unknown): number {
  if (collection === undefined || collection === null) return 0;
  if (Array.isArray(collection) || inspect.isTypedArray(collection)) return collection.length;
  if (inspect.isSet(collection) || inspect.isMap(collection)) return collection.size;
  throw new InvalidArgumentError(`Expected the collection to be a list, a Set or a Map, got ${shown(collection)}.`);
}
