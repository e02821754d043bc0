const NONE: ReadonlySet<never> = new Set<never>();

/** Members by what they have in common; a group without members takes no memory. */
export class Groups<K, V> {
  private readonly sets = new Map<K, Set<V>>();

  get(key: K): ReadonlySet<V> {
    return this.sets.get(key) ?? NONE;
  }

  add(key: K, member: V): void {
    const set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, new Set([member]));
    else set.add(member);
  }

  delete(key: K, member: V): void {
    const set = this.sets.get(key);
    if (set?.delete(member) === true && set.size === 0) this.sets.delete(key);
  }
}
