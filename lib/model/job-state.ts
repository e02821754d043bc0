/** Where a job stands. Sent by name, persisted as the number in {@link JOB_STATE_CODES}. */
export const JobState = {
  /** Waits for its due time. */
  Scheduled: 'Scheduled',
  /** Can be claimed by any worker of its queue. */
  Enqueued: 'Enqueued',
  /** Claimed: a worker holds its lease. */
  Processing: 'Processing',
  Succeeded: 'Succeeded',
  /** Threw, and waits for its next attempt. Not terminal. */
  Failed: 'Failed',
  /** Will not be tried again. Kept until someone requeues or deletes it. */
  Dead: 'Dead',
  Cancelled: 'Cancelled',
  /** A continuation whose parent has not finished. */
  Awaiting: 'Awaiting',
} as const;
export type JobState = (typeof JobState)[keyof typeof JobState];

/** The persisted numbers. A format: never renumber. */
export const JOB_STATE_CODES = {
  Scheduled: 0,
  Enqueued: 1,
  Processing: 2,
  Succeeded: 3,
  Failed: 4,
  Dead: 5,
  Cancelled: 6,
  Awaiting: 7,
} as const satisfies Record<JobState, number>;

export const JOB_STATES = Object.keys(JOB_STATE_CODES) as readonly JobState[];

export function jobStateOf(code: number): JobState {
  const state = JOB_STATES[code];
  if (state === undefined) throw new RangeError(`${code} is not the number of a job state`);
  return state;
}

/** True for Succeeded, Dead and Cancelled: nothing leaves these. */
export function isTerminal(state: JobState): boolean {
  return state === JobState.Succeeded || state === JobState.Dead || state === JobState.Cancelled;
}
