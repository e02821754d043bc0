import { types as inspect } from 'node:util';
import type { ActivityType } from '../activity';
import { WorkflowDefinitionError } from '../workflow.errors';

/** Recorded name of an activity class; null when it is no activity that may be used. */
export type ActivityNaming = (type: ActivityType<never>) => string | null;

/** What all builders of one definition share: its name for errors, the counters of its ids, and whether it is still being built. */
export class BuildScope {
  /** All ids so far. */
  readonly ids: string[] = [];
  private readonly counters = new Map<string, number>();
  private isOpen = true;

  constructor(
    readonly workflow: string,
    readonly nameOf: ActivityNaming,
  ) {}

  /** The next id of a kind; ids are given in the order in which the definition is read. */
  nextId(prefix: string): string {
    const count = (this.counters.get(prefix) ?? 0) + 1;
    this.counters.set(prefix, count);
    const id = `${prefix}${count}`;
    this.ids.push(id);
    return id;
  }

  close(): void {
    this.isOpen = false;
  }

  checkOpen(): void {
    if (!this.isOpen) {
      throw this.error('its builder was used after build() had returned. build() must be synchronous.', null);
    }
  }

  error(problem: string, step: string | null, cause?: unknown): WorkflowDefinitionError {
    return new WorkflowDefinitionError(problem, this.workflow, step, cause === undefined ? undefined : { cause });
  }

  /** Refuses what an async function returned. A promise is handled here: nobody else will ever look at it. */
  refusePromise(result: unknown, what: string, step: string | null): void {
    if (inspect.isPromise(result)) result.catch(() => undefined);
    else if (!isThenable(result)) return;
    throw this.error(`${what} returned a promise. ${MUST_BE_SYNCHRONOUS}`, step);
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

export const MUST_BE_SYNCHRONOUS =
  'build() and everything in it must be synchronous: drop the async keyword, and do not await the builder.';
