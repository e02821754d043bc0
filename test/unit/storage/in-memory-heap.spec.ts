import { array, assert, integer, nat, oneof, property, record } from 'fast-check';
import { Heap } from '../../../lib/storage/in-memory/heap';

interface Member {
  slot: number;
  readonly at: number;
  readonly id: number;
}

describe('a heap whose members can leave', () => {
  it('always has the first of those it holds at hand, whoever joined and left', () => {
    const step = oneof(record({ join: integer({ min: 0, max: 20 }) }), record({ leave: nat() }));

    assert(
      property(array(step, { maxLength: 200 }), (steps) => {
        const heap = new Heap<Member>((a, b) => (a.at === b.at ? a.id < b.id : a.at < b.at));
        const members: Member[] = [];

        steps.forEach((next, id) => {
          if ('join' in next) {
            const member = { slot: 0, at: next.join, id };
            members.push(member);
            heap.push(member);
          } else if (members.length > 0) {
            heap.remove(members.splice(next.leave % members.length, 1)[0]!);
          }
          const [first] = members.toSorted((a, b) => a.at - b.at || a.id - b.id);
          expect(heap.peek()).toBe(first);
          expect(heap.size).toBe(members.length);
        });
      }),
      { numRuns: 300 },
    );
  });
});
