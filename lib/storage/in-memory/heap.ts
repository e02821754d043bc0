/** What can stand in a heap: it carries its own place, so that it can leave from anywhere in logarithmic time. */
export interface HeapMember {
  /** Set by the heap it stands in. */
  slot: number;
}

/** A binary heap: the member that comes `before` all others is at hand, and any member can leave. */
export class Heap<T extends HeapMember> {
  private readonly members: T[] = [];

  constructor(private readonly before: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.members.length;
  }

  peek(): T | undefined {
    return this.members[0];
  }

  push(member: T): void {
    this.rise(member, this.members.length);
  }

  remove(member: T): void {
    const last = this.members.pop();
    if (last === undefined || last === member) return;
    this.rise(last, this.sink(member.slot));
  }

  /** Puts a member into a slot or, while it comes before the one above, into that one's. */
  private rise(member: T, slot: number): void {
    let place = slot;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.members[above];
      if (parent === undefined || !this.before(member, parent)) break;
      this.set(place, parent);
      place = above;
    }
    this.set(place, member);
  }

  /**
   * Moves members up over an empty slot, the first of two each time, and answers the slot that is empty then, at the
   * bottom: who came last most often belongs there, which spares comparing it at every level.
   */
  private sink(slot: number): number {
    let place = slot;
    for (;;) {
      const left = this.members[2 * place + 1];
      const right = this.members[2 * place + 2];
      if (left === undefined) return place;
      const child = right !== undefined && this.before(right, left) ? right : left;
      const below = child.slot;
      this.set(place, child);
      place = below;
    }
  }

  private set(slot: number, member: T): void {
    this.members[slot] = member;
    member.slot = slot;
  }
}
