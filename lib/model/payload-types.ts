import { types as inspect } from 'node:util';
import { InvalidPayloadError } from './errors';
import type { PayloadPath } from './payload-root';

/** What JSON lacks. These names are stored: a format, never to be renamed. */
export type PayloadType =
  'undefined' | 'hole' | 'number' | 'bigint' | 'null-prototype' | 'Date' | 'Map' | 'Set' | 'RegExp' | 'URL' | BytesType;

type BytesType = 'Buffer' | TypedArrayName;

const TYPED_ARRAYS = {
  Uint8Array,
  Uint8ClampedArray,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
} as const;
type TypedArrayName = keyof typeof TYPED_ARRAYS;

/** The type of a Buffer or typed array; undefined for anything else, and for kinds that older nodes do not have. */
export function bytesTypeOf(value: object): BytesType | undefined {
  if (!inspect.isTypedArray(value)) return undefined;
  if (Buffer.isBuffer(value)) return 'Buffer';
  const name = value[Symbol.toStringTag] as string;
  return Object.hasOwn(TYPED_ARRAYS, name) ? (name as TypedArrayName) : undefined;
}

/** Bytes as they are stored: base64, little-endian. */
export function bytesToJson(value: NodeJS.TypedArray): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}

/** `/source/flags`, with `@lastIndex` behind it when that is not 0. */
export function regExpToJson(value: RegExp): string {
  return value.lastIndex === 0 ? String(value) : `${String(value)}@${value.lastIndex}`;
}

/** Like an assignment, but an own property for the key "__proto__" as well. */
export function setProperty(object: Record<string | number, unknown>, key: string | number, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

const HOLE = Symbol('hole');

/** Collects which paths have which type. Its text: `{ "Date": [[0, "dueAt"]] }`. */
export class PayloadTypeIndex {
  private paths: Map<PayloadType, PayloadPath[]> | undefined;

  add(type: PayloadType, path: PayloadPath): void {
    this.paths ??= new Map();
    const known = this.paths.get(type);
    if (known === undefined) this.paths.set(type, [[...path]]);
    else known.push([...path]);
  }

  toText(): string | null {
    return this.paths === undefined ? null : JSON.stringify(Object.fromEntries(this.paths));
  }
}

interface TypedNode {
  type: string | undefined;
  readonly children: Map<string | number, TypedNode>;
}

/** Turns parsed JSON back into the value that it stands for, innermost first. */
export function revive(json: unknown, types: string): unknown {
  const root: TypedNode = { type: undefined, children: new Map() };
  const index = JSON.parse(types) as Record<string, PayloadPath[]>;
  for (const [type, paths] of Object.entries(index)) {
    for (const path of paths) nodeAt(root, path).type = type;
  }
  return reviveNode(json, root);
}

function nodeAt(root: TypedNode, path: PayloadPath): TypedNode {
  let node = root;
  for (const step of path) {
    let child = node.children.get(step);
    if (child === undefined) {
      child = { type: undefined, children: new Map() };
      node.children.set(step, child);
    }
    node = child;
  }
  return node;
}

function reviveNode(json: unknown, node: TypedNode): unknown {
  for (const [step, child] of node.children) {
    const parent = json as Record<string | number, unknown>;
    const value = reviveNode(parent[step], child);
    if (value === HOLE) delete parent[step];
    else setProperty(parent, step, value);
  }
  return node.type === undefined ? json : fromJson(json, node.type as PayloadType);
}

function fromJson(json: unknown, type: PayloadType): unknown {
  switch (type) {
    case 'undefined':
      return undefined;
    case 'hole':
      return HOLE;
    case 'number':
      return Number(json);
    case 'bigint':
      return BigInt(json as string);
    case 'null-prototype':
      return Object.setPrototypeOf(json, null);
    case 'Date':
      return new Date(json as string);
    case 'Map':
      return new Map(json as [unknown, unknown][]);
    case 'Set':
      return new Set(json as unknown[]);
    case 'RegExp':
      return regExpFrom(json as string);
    case 'URL':
      return new URL(json as string);
    case 'Buffer':
      return Buffer.from(json as string, 'base64');
    case 'Uint8Array':
    case 'Uint8ClampedArray':
    case 'Int8Array':
    case 'Uint16Array':
    case 'Int16Array':
    case 'Uint32Array':
    case 'Int32Array':
    case 'Float32Array':
    case 'Float64Array':
    case 'BigUint64Array':
    case 'BigInt64Array':
      return typedArrayFrom(json as string, type);
    default:
      throw new InvalidPayloadError(`A stored value has the type "${String(type)}", which this version lacks.`, '');
  }
}

function regExpFrom(text: string): RegExp {
  const end = text.lastIndexOf('/');
  const [flags = '', lastIndex = '0'] = text.slice(end + 1).split('@');
  const value = new RegExp(text.slice(1, end), flags);
  value.lastIndex = Number(lastIndex);
  return value;
}

function typedArrayFrom(base64: string, type: TypedArrayName): unknown {
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64')); // a buffer of its own, aligned at 0
  return new TYPED_ARRAYS[type](bytes.buffer);
}
