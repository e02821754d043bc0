import { InvalidPayloadError } from './errors';

/** Steps from the root of a payload to a value inside it: keys and indices of its JSON form. */
export type PayloadPath = readonly (string | number)[];

/** What a payload is called in errors, and whether its first step is the number of an argument. */
export interface PayloadRoot {
  readonly name: string;
  readonly hasArguments: boolean;
}

export const ARGUMENTS: PayloadRoot = { name: 'the arguments', hasArguments: true };

/** A place as people read it: `argument 1, at .lines[3].price`. */
export function placeOf(root: PayloadRoot, path: PayloadPath): string {
  const [first, ...rest] = path;
  if (!root.hasArguments || typeof first !== 'number') return joined(root.name, path);
  return joined(`argument ${first + 1}`, rest);
}

export function refusedPayload(
  root: PayloadRoot,
  path: PayloadPath,
  problem: string,
  cause?: unknown,
): InvalidPayloadError {
  const place = placeOf(root, path);
  const error = new InvalidPayloadError(`${capitalized(place)}: ${problem}`, place);
  if (cause !== undefined) error.cause = cause;
  return error;
}

export function payloadTooLarge(root: PayloadRoot, bytes: string, maxBytes: number): InvalidPayloadError {
  return refusedPayload(
    root,
    [],
    `${bytes} bytes as JSON, and maxPayloadBytes is ${maxBytes}. Keep the data elsewhere and pass its id.`,
  );
}

function joined(name: string, path: PayloadPath): string {
  return path.length === 0 ? name : `${name}, at ${path.map(step).join('')}`;
}

function step(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`;
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
