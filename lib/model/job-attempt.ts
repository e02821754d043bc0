/** How an attempt that did not succeed ended. Persisted as the number in {@link ATTEMPT_OUTCOME_CODES}. */
export const AttemptOutcome = {
  Failed: 'Failed',
  /** The process vanished, or gave the job back in an orderly shutdown. */
  Interrupted: 'Interrupted',
} as const;
export type AttemptOutcome = (typeof AttemptOutcome)[keyof typeof AttemptOutcome];

/** The persisted numbers. A format: never renumber. */
export const ATTEMPT_OUTCOME_CODES = { Failed: 0, Interrupted: 1 } as const satisfies Record<AttemptOutcome, number>;
export const ATTEMPT_OUTCOMES = Object.keys(ATTEMPT_OUTCOME_CODES) as readonly AttemptOutcome[];

/** One attempt of a job's history. An attempt that succeeded, or was cancelled, leaves none. */
export interface JobAttempt {
  readonly attempt: number;
  readonly outcome: AttemptOutcome;
  /** When it ended. */
  readonly recordedAt: Date;
  readonly workerId: string | null;
  readonly error: string | null;
}

/** Attempts kept per job: writing attempt n removes those up to n − 10. */
export const ATTEMPTS_KEPT = 10;
