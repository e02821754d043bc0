import type { Named } from './random-graph';

/**
 * The steps, delays and waits that a run goes through from beginning to end, as operators write them: `each1.3/a2`. Read off
 * the definition by plain recursion: the engine, which goes by single events, has to come to the same however they interleave.
 */
export function* everything(shapes: readonly Named[], scope = ''): Generator<string> {
  for (const shape of shapes) {
    const [first = [], second = []] = shape.parts;
    switch (shape.kind) {
      case 'step':
      case 'delay':
      case 'wait':
        yield scope + shape.id;
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

/** The saga in whose body something lies, innermost; null outside of any. */
export function sagaOf(at: string): string | null {
  const parts = at.split('/').slice(0, -1);
  const index = parts.findLastIndex((part) => part.startsWith('saga'));
  if (index < 0) return null;
  const body = parts.slice(0, index + 1).join('/');
  return body.slice(0, body.lastIndexOf('.'));
}

export function outermostSagaOf(at: string): string | null {
  let saga = sagaOf(at);
  for (let outer = saga; outer !== null; outer = sagaOf(outer)) saga = outer;
  return saga;
}

/** Whether something lies in the body of a saga, however deep; in the instance, where the saga is the empty text. */
export function isBelow(at: string, saga: string): boolean {
  return at !== saga && at.startsWith(bodyScope(saga));
}

export function bodyScope(saga: string): string {
  return saga === '' ? '' : `${saga}.0/`;
}
