import type { Named } from './random-graph';

/** Something that a run without failures does once. */
export interface Expected {
  readonly kind: 'step' | 'delay' | 'wait';
  /** As operators write it: `each1.3/a2`. */
  readonly at: string;
}

/**
 * What has to happen from beginning to end, read off the definition by plain recursion: the engine, which goes by single
 * events, has to come to the same however they interleave.
 */
export function* everything(shapes: readonly Named[], scope = ''): Generator<Expected> {
  for (const shape of shapes) {
    const [first = [], second = []] = shape.parts;
    switch (shape.kind) {
      case 'step':
      case 'delay':
      case 'wait':
        yield { kind: shape.kind, at: scope + shape.id };
        break;
      case 'if':
        yield* everything(shape.truth ? first : second, scope);
        break;
      case 'parallel':
        for (const [index, branch] of shape.parts.entries()) yield* everything(branch, `${scope}${shape.id}.${index}/`);
        break;
      case 'loop':
        for (let index = 0; index < shape.count; index++) yield* everything(first, `${scope}${shape.id}.${index}/`);
        break;
      case 'saga':
        yield* everything(first, `${scope}${shape.id}.0/`);
    }
  }
}

/** The key of the saga in which a position lies, innermost; null outside of any. */
export function sagaOf(at: string): string | null {
  const parts = at.split('/').slice(0, -1);
  const index = parts.findLastIndex((part) => part.startsWith('saga'));
  return index < 0
    ? null
    : parts
        .slice(0, index + 1)
        .join('/')
        .replace(/\.0$/, '');
}

export function outermostSagaOf(at: string): string | null {
  let saga = sagaOf(at);
  for (let outer = saga; outer !== null; outer = sagaOf(outer)) saga = outer;
  return saga;
}
