import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';

/** What the processes write down for themselves, so that the store is not its own witness. */
export type CrashRecord =
  /** A handler was entered, and left without an error. */
  | { readonly kind: 'started' | 'ended'; readonly job: string; readonly attempt: number; readonly at: number }
  /** An activity was entered, and left without an error. `place` is its name, and the iteration it was in: `Load#2`. */
  | {
      readonly kind: 'stepStarted' | 'stepEnded';
      readonly job: string;
      readonly attempt: number;
      readonly instance: string;
      readonly place: string;
      readonly at: number;
    }
  /** A start answered with this instance. */
  | { readonly kind: 'begun'; readonly item: number; readonly instance: string }
  /** An enqueueing call answered with these ids. */
  | { readonly kind: 'answered'; readonly item: number; readonly jobs: readonly string[] }
  /** Nothing is left to do for this item of the plan. */
  | { readonly kind: 'done'; readonly item: number };

/**
 * An append-only file of records that many processes write. Each record is one `write` to a descriptor opened with
 * O_APPEND: it is whole, and in the file, before the process goes on, so a SIGKILL takes none of them back.
 */
export class RecordFile {
  private descriptor: number | null = null;

  constructor(readonly path: string) {}

  append(record: CrashRecord): void {
    this.descriptor ??= openSync(this.path, 'a');
    writeSync(this.descriptor, `${JSON.stringify(record)}\n`);
  }

  read(): CrashRecord[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as CrashRecord);
  }

  close(): void {
    if (this.descriptor !== null) closeSync(this.descriptor);
    this.descriptor = null;
  }
}
