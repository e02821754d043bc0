import type { IClock } from '../../model/time';
import { StorageClosedError } from '../storage.errors';
import { copyInstant } from './copies';
import type { InProcessNotifier } from './notifier';
import { evictFinished } from './retention';
import { Tables } from './tables';

/** The rule under which operations work on the tables. */
export class Database {
  private readonly tables = new Tables();
  private isBusy = false;
  private isOpen = false;

  constructor(
    private readonly provider: string,
    private readonly clock: IClock,
    private readonly notifier: InProcessNotifier,
    private readonly keepFinished: number,
  ) {}

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
  }

  /**
   * Runs an operation from its first read to its last write without a pause, so that no two ever meet. One that throws
   * has changed nothing; one that returns is told to the listeners.
   *
   * @param operation is given the one instant that counts as now
   * @throws {StorageClosedError} before {@link open} and after {@link close}
   */
  async run<T>(operation: (tables: Tables, now: Date) => T): Promise<T> {
    if (!this.isOpen) throw new StorageClosedError(this.provider);
    if (this.isBusy) throw new Error('A storage operation was called from within another one. Callbacks must be pure.');
    this.isBusy = true;
    const { changes } = this.tables;
    try {
      const result = operation(this.tables, copyInstant(this.clock.now(), 'The present'));
      evictFinished(this.tables, this.keepFinished);
      this.notifier.publish(changes.commit());
      return result;
    } catch (error) {
      changes.rollback();
      throw error;
    } finally {
      this.isBusy = false;
    }
  }
}
