/** A process that runs Millrace, as it last reported itself. */
export interface NodeRecord {
  /** Also the `workerId` of its claims. */
  readonly id: string;
  readonly host: string;
  readonly queues: readonly string[];
  readonly maxParallelism: number;
  readonly running: number;
  readonly version: string;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
}

/** A queue that was paused at least once. */
export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
}
