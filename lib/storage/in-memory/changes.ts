import type { JobId } from '../../model/ids';
import type { StorageSignal } from '../storage-notifier';

/** A point of an operation to go back to. */
export interface Savepoint {
  readonly undos: number;
  readonly signals: number;
}

/** What the operation under way has done: how to take it back, and whom to tell once it is done. */
export class Changes {
  private undos: (() => void)[] = [];
  private signals: StorageSignal[] = [];

  /** @param undo takes back the write that was just made; nothing is recorded while it runs */
  record(undo: () => void): void {
    this.undos.push(undo);
  }

  ready(queue: string): void {
    const latest = this.signals.at(-1);
    if (latest?.kind === 'ready' && latest.queue === queue) return;
    this.signals.push({ kind: 'ready', queue });
  }

  cancelRequested(id: JobId): void {
    this.signals.push({ kind: 'cancel', id });
  }

  savepoint(): Savepoint {
    return { undos: this.undos.length, signals: this.signals.length };
  }

  rollback(to: Savepoint = { undos: 0, signals: 0 }): void {
    while (this.undos.length > to.undos) this.undos.pop()?.();
    this.signals.length = to.signals;
  }

  /** Ends the operation: nothing can be taken back any more. Answers its signals, one per queue. */
  commit(): StorageSignal[] {
    const signals = this.signals;
    this.undos = [];
    this.signals = [];
    const queues = new Set<string>();
    return signals.filter((signal) => {
      if (signal.kind !== 'ready') return true;
      if (queues.has(signal.queue)) return false;
      queues.add(signal.queue);
      return true;
    });
  }
}
