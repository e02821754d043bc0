/** Undoes what a fact has made, the newest first. */
export class Disposables {
  private readonly undo: (() => Promise<void> | void)[] = [];

  add(undo: () => Promise<void> | void): void {
    this.undo.push(undo);
  }

  async dispose(): Promise<void> {
    for (let last = this.undo.pop(); last; last = this.undo.pop()) await last();
  }
}
