import { IStorageNotifier, type StorageSignal } from '../storage-notifier';
import type { StorageLogger } from '../storage';

interface Subscription {
  readonly listener: (signal: StorageSignal) => void;
}

/** Tells listeners of this process, once the operation has ended and its own code has returned. */
export class InProcessNotifier extends IStorageNotifier {
  private readonly subscriptions = new Set<Subscription>();

  constructor(private readonly logger: StorageLogger) {
    super();
  }

  override subscribe(listener: (signal: StorageSignal) => void): () => void {
    const subscription = { listener };
    this.subscriptions.add(subscription);
    return () => {
      this.subscriptions.delete(subscription);
    };
  }

  publish(signals: readonly StorageSignal[]): void {
    if (signals.length === 0 || this.subscriptions.size === 0) return;
    // Not at once: a listener that called the store again would find an operation in progress.
    queueMicrotask(() => {
      for (const signal of signals) this.deliver(signal);
    });
  }

  close(): void {
    this.subscriptions.clear();
  }

  private deliver(signal: StorageSignal): void {
    for (const { listener } of this.subscriptions) {
      try {
        listener({ ...signal });
      } catch (error) {
        this.logger.error(`A listener of the storage failed on a "${signal.kind}" signal: ${String(error)}`);
      }
    }
  }
}
