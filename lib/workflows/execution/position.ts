import type { GraphNode } from '../graph/graph';

/** One opening of a node that holds others: a branch of a `parallel`, an iteration of a `forEach`, or 0 for the body of a saga. */
export type ScopePart = readonly [node: string, index: number];

/** Where in the nesting something stands, outermost part first; empty for the root sequence. */
export type ScopePath = readonly ScopePart[];

/** A place in the graph of one instance, stored as JSON on jobs and bookmarks: `{ "node": "a3", "path": [["each1", 3]] }`. */
export interface Position {
  readonly node: string;
  readonly path: ScopePath;
  /** The compensation of that step, not the step itself. */
  readonly undo?: true;
}

export function encodePosition({ node, path, undo }: Position): string {
  return JSON.stringify(undo ? { node, path, undo } : { node, path });
}

export function decodePosition(text: string): Position {
  return JSON.parse(text) as Position;
}

/** The path as the text that storage matches by prefix: `each1.3/par1.0/`, the empty string for the root. */
export function scopeOf(path: ScopePath): string {
  let scope = '';
  for (const [node, index] of path) scope += `${node}.${index}/`;
  return scope;
}

/** A position as cursors keep it and operators read and write it: its scope and its node, `each1.3/a2`. */
export function positionText({ node, path }: Position): string {
  return scopeOf(path) + node;
}

/** Gives back what {@link positionText} was given. */
export function parsePosition(text: string): Position {
  const parts = text.split('/');
  const node = parts.pop() ?? '';
  return { node, path: parts.map(parsePart) };
}

function parsePart(text: string): ScopePart {
  const dot = text.lastIndexOf('.');
  return [text.slice(0, dot), Number(text.slice(dot + 1))];
}

/** Indexes in all enclosing `forEach` loops, outermost first. */
export function loopPathOf(path: ScopePath, nodes: ReadonlyMap<string, GraphNode>): number[] {
  return path.filter(([node]) => nodes.get(node)?.kind === 'ForEach').map(([, index]) => index);
}
