import assert from 'node:assert/strict';
import type { Bookmark } from '../model/bookmark';
import type { JobRecord } from '../model/job';
import type { RecurringDefinition } from '../model/recurring-definition';
import type { WorkflowInstance } from '../model/workflow-instance';

/**
 * Strictly and deeply equal, as data. Which realm an array or an object was made in does not matter: a native driver makes
 * them in its own, and test runners run tests in another.
 */
export function assertEqual(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(asData(actual), asData(expected), message);
}

function asData(value: unknown): unknown {
  if (Array.isArray(value)) return Array.from(value, asData);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asData(member)]));
}

function isObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === '[object Object]';
}

/** Expects a rejection of this code; not of this class, since two copies of the package may be loaded. */
export async function rejectsWith(code: `MILLRACE_${string}`, action: Promise<unknown>): Promise<Error> {
  const error = await rejectionOf(action);
  assert.ok(error instanceof Error && codeOf(error) === code, `expected ${code}, got ${String(error)}`);
  return error;
}

/** Expects a rejection, and answers with what. */
export async function rejectionOf(action: Promise<unknown>): Promise<unknown> {
  try {
    await action;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: 'the call succeeded, and should have been refused' });
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

// JSON columns may come back with other spacing or another order of keys: what has to survive is what they say.

export function assertSameJob(actual: JobRecord | null, expected: JobRecord): void {
  assertEqual(actual && withJson(actual, JOB_JSON), withJson(expected, JOB_JSON));
}

export function assertSameInstance(actual: WorkflowInstance | null, expected: WorkflowInstance): void {
  assertEqual(actual && withJson(actual, INSTANCE_JSON), withJson(expected, INSTANCE_JSON));
}

export function assertSameBookmark(actual: Bookmark | null | undefined, expected: Bookmark): void {
  assertEqual(actual && withJson(actual, ['position']), withJson(expected, ['position']));
}

export function assertSameDefinition(actual: RecurringDefinition | null, expected: RecurringDefinition): void {
  assertEqual(actual && withJson(actual, RECURRING_JSON), withJson(expected, RECURRING_JSON));
}

export function assertSameJson(actual: string | null, expected: string | null): void {
  assertEqual(actual && JSON.parse(actual), expected && JSON.parse(expected));
}

const JOB_JSON = ['args', 'argTypes', 'position'] as const;
const INSTANCE_JSON = ['data', 'dataTypes', 'cursor', 'failure'] as const;
const RECURRING_JSON = ['args', 'argTypes'] as const;

function withJson<T extends object>(record: T, fields: readonly (keyof T)[]): Record<string, unknown> {
  const parsed = fields.map((field) => [field, parse(record[field])]);
  return { ...record, ...(Object.fromEntries(parsed) as Record<string, unknown>) };
}

function parse(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}
