import type { Bookmark } from '../../model/bookmark';
import { InvalidArgumentError } from '../../model/errors';
import type { BookmarkId, InstanceId } from '../../model/ids';
import type { Changes } from './changes';
import { copyBookmark } from './copies';
import { Groups } from './groups';
import { Heap, type HeapMember } from './heap';

/** A bookmark's place in one heap. */
interface Place extends HeapMember {
  readonly bookmark: Bookmark;
}

interface StoredBookmark {
  /** Among those that the same signal would wake. */
  readonly turn: Place;
  readonly expiry: Place;
}

/** All waits: by whom they wait for, by when they give up, and by instance. */
export class BookmarkTable {
  private readonly byId = new Map<BookmarkId, StoredBookmark>();
  private readonly waiting = new Map<string, Heap<Place>>();
  private readonly expiring = new Heap<Place>(expiresBefore);
  private readonly ofInstances = new Groups<InstanceId, Bookmark>();

  constructor(private readonly changes: Changes) {}

  /** The one that has waited longest for this signal. */
  oldest(signalName: string, correlationId: string, tenantId: string | null): Bookmark | undefined {
    return this.waiting.get(signalKey(signalName, correlationId, tenantId))?.peek()?.bookmark;
  }

  /** The one that gives up first. */
  firstToExpire(): Bookmark | undefined {
    return this.expiring.peek()?.bookmark;
  }

  /** Oldest first. */
  ofInstance(id: InstanceId): Bookmark[] {
    return [...this.ofInstances.get(id)].toSorted((a, b) => (isOlder(a, b) ? -1 : 1));
  }

  add(bookmark: Bookmark): void {
    if (this.byId.has(bookmark.id)) {
      throw new InvalidArgumentError(
        `A bookmark ${bookmark.id} exists already. Ids are minted per wait: pass a new one.`,
      );
    }
    const copy = copyBookmark(bookmark);
    this.attach(copy);
    this.changes.record(() => this.detach(copy.id));
  }

  remove(id: BookmarkId): void {
    const bookmark = this.detach(id);
    if (bookmark) this.changes.record(() => this.attach(bookmark));
  }

  private attach(bookmark: Bookmark): void {
    const stored = { turn: { bookmark, slot: 0 }, expiry: { bookmark, slot: 0 } };
    this.byId.set(bookmark.id, stored);
    const key = keyOf(bookmark);
    let queue = this.waiting.get(key);
    if (queue === undefined) this.waiting.set(key, (queue = new Heap(waitsLonger)));
    queue.push(stored.turn);
    if (bookmark.expiresAt) this.expiring.push(stored.expiry);
    this.ofInstances.add(bookmark.instanceId, bookmark);
  }

  private detach(id: BookmarkId): Bookmark | undefined {
    const stored = this.byId.get(id);
    if (stored === undefined) return undefined;
    const { bookmark } = stored.turn;
    this.byId.delete(id);
    const queue = this.waiting.get(keyOf(bookmark));
    queue?.remove(stored.turn);
    if (queue?.size === 0) this.waiting.delete(keyOf(bookmark));
    if (bookmark.expiresAt) this.expiring.remove(stored.expiry);
    this.ofInstances.delete(bookmark.instanceId, bookmark);
    return bookmark;
  }
}

function waitsLonger(a: Place, b: Place): boolean {
  return isOlder(a.bookmark, b.bookmark);
}

function isOlder(a: Bookmark, b: Bookmark): boolean {
  const [first, second] = [a.createdAt.getTime(), b.createdAt.getTime()];
  return first === second ? a.id < b.id : first < second;
}

function expiresBefore({ bookmark: a }: Place, { bookmark: b }: Place): boolean {
  const [first, second] = [a.expiresAt?.getTime() ?? Infinity, b.expiresAt?.getTime() ?? Infinity];
  return first === second ? a.id < b.id : first < second;
}

function keyOf({ signalName, correlationId, tenantId }: Bookmark): string {
  return signalKey(signalName, correlationId, tenantId);
}

/** JSON tells no tenant from the empty one, and where one part ends. */
function signalKey(signalName: string, correlationId: string, tenantId: string | null): string {
  return JSON.stringify([tenantId, signalName, correlationId]);
}
