/** Decisions taken from a list of numbers: once it is spent, all further ones are the first of what there is to choose from. */
export class Choices {
  private next = 0;

  constructor(private readonly numbers: readonly number[]) {}

  get areSpent(): boolean {
    return this.next >= this.numbers.length;
  }

  /** From 0 up to, and without, the limit. */
  below(limit: number): number {
    const number = this.numbers[this.next++];
    if (number === undefined) return 0;
    return number % limit;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}
