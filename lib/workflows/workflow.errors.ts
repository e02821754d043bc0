import { MillraceError } from '../model/errors';
import type { InstanceState } from '../model/workflow-instance';

/** Thrown at startup for a workflow whose graph cannot be built. Nothing of it is registered. */
export class WorkflowDefinitionError extends MillraceError {
  readonly code = 'MILLRACE_WORKFLOW_DEFINITION';

  constructor(
    problem: string,
    /** The definition as `id@version`. */
    readonly workflow: string,
    /** Id of the step at fault, `a1` or `if1`; null when it is none in particular. */
    readonly step: string | null,
    options?: ErrorOptions,
  ) {
    super(`Workflow ${workflow}${step === null ? '' : `, step ${step}`}: ${problem}`, options);
  }
}

/** Thrown by an operator's decision that is ambiguous, or that the parked position does not allow. Nothing has moved. */
export class InvalidDecisionError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_DECISION';
}

/** Thrown by `retry` for an instance that cannot be taken up again. Nothing has moved. */
export class WorkflowNotRetryableError extends MillraceError {
  readonly code = 'MILLRACE_WORKFLOW_NOT_RETRYABLE';

  constructor(
    readonly state: InstanceState,
    /** Of one that failed: what made that final. */
    reason: 'terminated' | 'decided' | 'saga' | 'undone' | null = null,
  ) {
    super(
      state === 'Failed'
        ? `This instance cannot be retried: ${WHY_FINAL[reason ?? 'undone']}. Start a new one.`
        : `Only an instance that failed can be retried; this one is ${state}. Start a new one.`,
    );
  }
}

const WHY_FINAL = {
  terminated: 'a step with onFailure(Terminate) has ended it',
  decided: "an operator's decision has ended it",
  saga: 'what failed was a saga, not a step outside any',
  undone: 'a saga was undone when it failed',
} as const;

/** Thrown at startup: two different classes are activities of one recorded name, or workflows of one id and version. */
export class DuplicateDefinitionError extends MillraceError {
  readonly code = 'MILLRACE_DUPLICATE_DEFINITION';

  constructor(
    what: string,
    readonly classes: readonly [string, string],
    where: readonly [string, string],
    cure: string,
  ) {
    super(`Two classes are ${what}: ${classes[0]} of ${where[0]} and ${classes[1]} of ${where[1]}. ${cure}`);
  }
}

/** Thrown at startup: a graph was edited under its old version while instances of that version are under way. */
export class ChangedShapeError extends MillraceError {
  readonly code = 'MILLRACE_CHANGED_SHAPE';

  constructor(
    /** As `id@version`. */
    readonly workflow: string,
    readonly liveInstances: number,
  ) {
    super(
      `The graph of ${workflow} is another than the one that ${liveInstances} live instances stand in. Give it a version of its ` +
        `own and keep the old one until they have ended; if you know that their positions still fit, pass ` +
        `acceptChangedShapes: ['${workflow}'].`,
    );
  }
}

/** Thrown by calls that need a definition which this node does not have. Nothing was stored. */
export class WorkflowNotFoundError extends MillraceError {
  readonly code = 'MILLRACE_WORKFLOW_NOT_FOUND';
}

/** Thrown by `signal`: the payload does not fit the schema of the wait, which stays. */
export class SignalRefusedError extends MillraceError {
  readonly code = 'MILLRACE_SIGNAL_REFUSED';

  constructor(
    readonly signal: string,
    /** What the schema found, one line each. */
    readonly issues: readonly string[],
  ) {
    super(`Signal "${signal}" was refused, and its wait stays: ${issues.join('; ')}`);
  }
}
