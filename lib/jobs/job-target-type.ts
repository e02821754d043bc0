/**
 * The class whose method a job calls: the provider itself, or the abstract class that stands as its token. (Structural,
 * so that an abstract class and one with a private constructor fit as well.)
 */
export interface JobTargetType<T> {
  readonly name: string;
  readonly prototype: T;
}

/** `(s) => s.method(…)`: called once, at once, on a recorder. */
export type JobCall<T> = (service: T) => unknown;
