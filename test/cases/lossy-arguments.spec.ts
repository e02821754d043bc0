import { Injectable } from '@nestjs/common';
import { InvalidPayloadError, Job, JobBatch } from 'nestjs-millrace';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

@Injectable()
class Shipments {
  readonly received = new Map<string, unknown[]>();

  @Job()
  async take(label: string, ...values: unknown[]): Promise<void> {
    this.received.set(label, values);
  }
}

class Order {
  constructor(readonly id: string) {}
}

const circle: Record<string, unknown> = { name: 'circle' };
circle['itself'] = circle;

const CARRIED: Record<string, unknown> = {
  bigint: 9007199254740993n,
  map: new Map<unknown, unknown>([
    ['a', 1],
    [{ nested: true }, new Date(0)],
  ]),
  set: new Set([1, '1', null]),
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  'negative zero': -0,
  date: new Date('2026-03-01T12:34:56.789Z'),
  buffer: Buffer.from([0, 255, 127]),
  undefined: undefined,
  'undefined in an object': { here: undefined, there: 1 },
  'undefined in an array': [1, undefined, 3],
  zero: 0,
  false: false,
  'empty text': '',
  null: null,
  'keys of prototypes': JSON.parse('{"__proto__":1,"constructor":2,"toJSON":3,"then":4}'),
};

const REFUSED: Record<string, { value: unknown; path: string }> = {
  circle: { value: { of: circle }, path: 'argument 2, at .of.itself' },
  'an instance of a class': { value: [new Order('o-1')], path: 'argument 2, at [0]' },
  function: { value: { call: () => undefined }, path: 'argument 2, at .call' },
  symbol: { value: Symbol('s'), path: 'argument 2' },
  'an invalid date': { value: { at: new Date(Number.NaN) }, path: 'argument 2, at .at' },
  promise: { value: Promise.resolve(), path: 'argument 2' },
};

describe('arguments that JSON cannot carry', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('arrive as they were', async () => {
      await using node = await RunningNode.start({ store: freshStore(), providers: [Shipments] });

      for (const [label, value] of Object.entries(CARRIED)) {
        await node.jobs.enqueue(Shipments, (shipments) => shipments.take(label, value));
      }
      await node.allEnded();

      const { received } = node.get(Shipments);
      for (const [label, value] of Object.entries(CARRIED)) {
        expect({ label, values: received.get(label) }).toStrictEqual({ label, values: [value] });
      }
    });

    it('are refused before anything is stored, with the argument and the path named, where they cannot', async () => {
      await using node = await RunningNode.start({ store: freshStore(), workerEnabled: false, providers: [Shipments] });

      for (const [label, { value, path }] of Object.entries(REFUSED)) {
        const call = node.jobs.enqueue(Shipments, (shipments) => shipments.take(label, value));

        await expect(call).rejects.toBeInstanceOf(InvalidPayloadError);
        await expect(call).rejects.toMatchObject({ path, message: expect.stringContaining(path.replace('a', 'A')) });
      }

      expect(await node.everyJob()).toEqual([]);
    });

    it('keep a whole batch from being stored', async () => {
      await using node = await RunningNode.start({ store: freshStore(), workerEnabled: false, providers: [Shipments] });
      const batch = new JobBatch();

      const filled = async () => {
        for (let index = 0; index < 10; index++) {
          const value = index === 7 ? circle : index;
          batch.enqueue(Shipments, (shipments) => shipments.take('member', value));
        }
        return node.jobs.enqueueBatch(batch);
      };

      await expect(filled()).rejects.toBeInstanceOf(InvalidPayloadError);
      expect(await node.everyJob()).toEqual([]);
    });

    it('are no object that the caller and the handler share', async () => {
      await using node = await RunningNode.start({ store: freshStore(), providers: [Shipments] });
      const order = { lines: [1, 2] };

      const enqueued = node.jobs.enqueue(Shipments, (shipments) => shipments.take('order', order));
      order.lines.push(3);
      await enqueued;
      await node.allEnded();

      expect(node.get(Shipments).received.get('order')).toEqual([{ lines: [1, 2] }]);
    });
  });
});
