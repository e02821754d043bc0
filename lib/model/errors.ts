/** Base of every error Millrace throws; `code` is stable across releases, the message is not. */
export abstract class MillraceError extends Error {
  /** Tells errors apart even where two copies of the package are loaded and `instanceof` fails. */
  abstract readonly code: `MILLRACE_${string}`;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Thrown by any call that is given a value it cannot use: a name, an option, a duration. Nothing was stored. */
export class InvalidArgumentError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_ARGUMENT';
}

/** Thrown for arguments, documents and signal payloads that storage could not give back as they were. Nothing was stored. */
export class InvalidPayloadError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_PAYLOAD';

  constructor(
    message: string,
    /** Where the value is, for example `argument 1, at .lines[3].price`. */
    readonly path: string,
  ) {
    super(message);
  }
}

/** Thrown for a cron expression that is malformed, or has no occurrence within eight years. Nothing was stored. */
export class InvalidCronError extends MillraceError {
  readonly code = 'MILLRACE_INVALID_CRON';

  constructor(
    message: string,
    readonly expression: string,
    /** The field at fault, for example `day of month`; null when the expression as a whole is. */
    readonly field: string | null,
  ) {
    super(message);
  }
}
