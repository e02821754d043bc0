import { IStorageNotifier, type JobId, type StorageSignal } from '../../lib/storage';

/** Wake-ups within this process, for databases that have no channel between processes: others poll. */
export class InProcessNotifier extends IStorageNotifier {
  private readonly listeners = new Set<(signal: StorageSignal) => void>();

  override subscribe(listener: (signal: StorageSignal) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  ready(queue: string): void {
    this.publish({ kind: 'ready', queue });
  }

  cancel(id: JobId): void {
    this.publish({ kind: 'cancel', id });
  }

  /** After the operation that it tells of: a listener must not find itself inside one. */
  private publish(signal: StorageSignal): void {
    queueMicrotask(() => {
      for (const listener of this.listeners) listener(signal);
    });
  }
}
