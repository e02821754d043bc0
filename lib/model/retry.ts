import { InvalidArgumentError } from './errors';
import { type Duration, HOUR, type Milliseconds, SECOND, toMilliseconds } from './time';

export const RetryKind = {
  None: 'None',
  Fixed: 'Fixed',
  Exponential: 'Exponential',
  /** Exponential, each delay between half of it and all of it. */
  Jittered: 'Jittered',
} as const;
export type RetryKind = (typeof RetryKind)[keyof typeof RetryKind];

/** The persisted numbers. A format: never renumber. */
export const RETRY_KIND_CODES = { None: 0, Fixed: 1, Exponential: 2, Jittered: 3 } as const satisfies Record<
  RetryKind,
  number
>;
export const RETRY_KINDS = Object.keys(RETRY_KIND_CODES) as readonly RetryKind[];

/** When a failed job is tried again. Plain data, stored on the job and evaluated by the engine alone. */
export interface RetryPolicy {
  readonly kind: RetryKind;
  /** Executions in all, the first included. */
  readonly maxAttempts: number;
  readonly baseDelay: Milliseconds;
  readonly maxDelay: Milliseconds;
}

const MAX_ATTEMPTS = 2 ** 31 - 1;
const MAX_DELAY: Milliseconds = 2 ** 52;

/** Makes retry policies: `Retry.none`, `Retry.fixed('30s', 3)`, `Retry.exponential(5)`. */
export const Retry = {
  /** The first failure is final. */
  none: Object.freeze<RetryPolicy>({ kind: RetryKind.None, maxAttempts: 1, baseDelay: 0, maxDelay: 0 }),

  /** The same delay between any two attempts; `maxAttempts` counts the first one. */
  fixed(delay: Duration, maxAttempts: number): RetryPolicy {
    const baseDelay = delayOf(delay, 'Retry.fixed: delay');
    return {
      kind: RetryKind.Fixed,
      maxAttempts: attemptsOf(maxAttempts, 'Retry.fixed'),
      baseDelay,
      maxDelay: baseDelay,
    };
  },

  /** Delays that double from `base` (default 5 s) up to `max` (default 1 h): 5, 10, 20, 40 s for `exponential(5)`. */
  exponential(maxAttempts: number, base: Duration = 5 * SECOND, max: Duration = HOUR): RetryPolicy {
    return doubling(RetryKind.Exponential, 'Retry.exponential', maxAttempts, base, max);
  },

  /**
   * As `exponential`, with each delay between half of it and all of it: jobs that failed together, since what they need was
   * down, do not all come back at one moment. The same job and failure always get the same delay.
   */
  jittered(maxAttempts: number, base: Duration = 5 * SECOND, max: Duration = HOUR): RetryPolicy {
    return doubling(RetryKind.Jittered, 'Retry.jittered', maxAttempts, base, max);
  },
} as const;

function doubling(kind: RetryKind, name: string, maxAttempts: number, base: Duration, max: Duration): RetryPolicy {
  const baseDelay = delayOf(base, `${name}: base`);
  const maxDelay = delayOf(max, `${name}: max`);
  if (maxDelay < baseDelay) {
    throw new InvalidArgumentError(`${name}: max (${maxDelay} ms) must not be shorter than base (${baseDelay} ms).`);
  }
  return { kind, maxAttempts: attemptsOf(maxAttempts, name), baseDelay, maxDelay };
}

/**
 * The wait before the next attempt.
 *
 * @param failures recorded failures, the one just recorded included (1 or more)
 * @param spread where in its range a jittered delay lies, from 0 to 1. Default: at its end
 * @returns milliseconds, or null when the policy allows no further attempt
 */
export function nextRetryDelay(policy: RetryPolicy, failures: number, spread = 1): Milliseconds | null {
  if (!Number.isInteger(failures) || failures < 1) {
    throw new InvalidArgumentError(`failures must be 1 or more, got ${failures}.`);
  }
  if (policy.kind === RetryKind.None || failures >= policy.maxAttempts) return null;
  if (policy.kind === RetryKind.Fixed) return policy.baseDelay;
  const delay = Math.min(policy.baseDelay * 2 ** Math.min(failures - 1, 60), policy.maxDelay);
  return policy.kind === RetryKind.Jittered ? Math.round((delay * (1 + spread)) / 2) : delay;
}

/** Checks a policy that did not come from {@link Retry}: plain data can be anything. */
export function checkedRetry(policy: RetryPolicy, name: string): RetryPolicy {
  const { kind, maxAttempts, baseDelay, maxDelay } = policy;
  if (!RETRY_KINDS.includes(kind)) {
    throw new InvalidArgumentError(`${name}: kind must be one of ${RETRY_KINDS.join(', ')}, got ${kind}.`);
  }
  return {
    kind,
    maxAttempts: attemptsOf(maxAttempts, name),
    baseDelay: delayOf(baseDelay, `${name}: baseDelay`),
    maxDelay: delayOf(maxDelay, `${name}: maxDelay`),
  };
}

function attemptsOf(value: number, name: string): number {
  if (!Number.isInteger(value) || value < 1 || value > MAX_ATTEMPTS) {
    throw new InvalidArgumentError(`${name}: maxAttempts must be a whole number of 1 or more, got ${value}.`);
  }
  return value;
}

function delayOf(value: Duration, name: string): Milliseconds {
  const delay = toMilliseconds(value, name);
  if (delay > MAX_DELAY) throw new InvalidArgumentError(`${name} is too long: ${delay} ms.`);
  return delay;
}
