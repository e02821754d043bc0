import type { JobId } from '../model/ids';

/** News from the store: work on a queue, or a running job that is asked to stop. */
export type StorageSignal =
  | { readonly kind: 'ready'; readonly queue: string }
  | { readonly kind: 'cancel'; readonly id: JobId }
  /** Some signals may have been missed: behave as if any had come. */
  | { readonly kind: 'reconnected' };

/**
 * Pushes wake-ups. Best effort: a signal may be lost, doubled, or come for a queue that is empty, and never comes before
 * the commit it tells of. Correctness and liveness never rest on it: the poll ceiling does.
 */
export abstract class IStorageNotifier {
  /** Calls `listener` for every signal until the returned function is called. The listener must not throw. */
  abstract subscribe(listener: (signal: StorageSignal) => void): () => void;
}
