import { Injectable } from '@nestjs/common';

/** What the activities of a test did, in order, and what they are to fail at. */
@Injectable()
export class Journal {
  readonly entries: string[] = [];
  private readonly failing = new Set<string>();

  /** Every further attempt at this throws. */
  fail(entry: string): void {
    this.failing.add(entry);
  }

  mend(entry: string): void {
    this.failing.delete(entry);
  }

  write(entry: string): void {
    this.entries.push(entry);
    if (this.failing.has(entry)) throw new Error(`${entry} fails`);
  }
}
