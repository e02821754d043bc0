import {
  type FollowUpOptions,
  InvalidArgumentError,
  InvalidCallError,
  ITenantContext,
  Job,
  JobBatch,
  JobState,
  ParentJobNotFoundError,
} from '../../../lib';
import { newId } from '../../../lib/model/ids';
import { Application } from './application';

const HOUR = 3_600_000;

class Orders {
  @Job({ queue: 'orders' })
  async confirm(_id: unknown): Promise<void> {}

  other(): void {}
}

const start = (options = {}) => Application.start({ providers: [Orders], options });

describe('A batch', () => {
  it('stores its members in one call and answers their ids by position', async () => {
    await using app = await start();
    const batch = new JobBatch()
      .enqueue(Orders, (o) => o.confirm('a'), { priority: 3 })
      .schedule(Orders, (o) => o.confirm('b'), '1h')
      .continueWith(0, Orders, (o) => o.confirm('c'));
    const enqueue = jest.spyOn(app.storage, 'enqueue');

    const ids = await app.jobs.enqueueBatch(batch);

    expect(enqueue).toHaveBeenCalledTimes(1);
    expect(await Promise.all(ids.map((id) => app.job(id)))).toMatchObject([
      { args: '["a"]', state: JobState.Enqueued, priority: 3, queue: 'orders' },
      { args: '["b"]', state: JobState.Scheduled },
      { args: '["c"]', state: JobState.Awaiting, parentId: ids[0] },
    ]);
  });

  it('captures arguments when a member is added, and measures delays and the tenant from the submission', async () => {
    await using app = await start();
    const order = { id: 1 };
    const batch = new JobBatch().schedule(Orders, (o) => o.confirm(order), '1h');
    order.id = 2;
    app.clock.advance('5m');

    const [id] = await app.get(ITenantContext).run('acme', () => app.jobs.enqueueBatch(batch));

    expect(await app.job(id!)).toMatchObject({
      args: '[{"id":1}]',
      dueAt: new Date(app.clock.now().getTime() + HOUR),
      tenantId: 'acme',
    });
  });

  it('answers the holder of a key, and lets continuations follow it', async () => {
    await using app = await start();
    const holder = await app.jobs.enqueue(Orders, (o) => o.confirm('a'), { idempotencyKey: 'k' });

    const ids = await app.jobs.enqueueBatch(
      new JobBatch()
        .enqueue(Orders, (o) => o.confirm('b'))
        .enqueue(Orders, (o) => o.confirm('c'), { idempotencyKey: 'k' })
        .continueWith(1, Orders, (o) => o.confirm('d')),
    );

    expect(ids[1]).toBe(holder);
    expect(await app.job(ids[2]!)).toMatchObject({ parentId: holder });
  });

  it('may continue a job that was stored before', async () => {
    await using app = await start();
    const parent = await app.jobs.enqueue(Orders, (o) => o.confirm('a'));

    const [id] = await app.jobs.enqueueBatch(new JobBatch().continueWith(parent, Orders, (o) => o.confirm('b')));

    expect(await app.job(id!)).toMatchObject({ parentId: parent });
  });

  it('can be submitted again, as new jobs', async () => {
    await using app = await start();
    const batch = new JobBatch().enqueue(Orders, (o) => o.confirm('a'));

    const ids = [...(await app.jobs.enqueueBatch(batch)), ...(await app.jobs.enqueueBatch(batch))];

    expect(new Set(ids).size).toBe(2);
    expect(batch.size).toBe(1);
  });

  it('without members is nothing to store, and no error', async () => {
    await using app = await start();
    const enqueue = jest.spyOn(app.storage, 'enqueue');

    expect(await app.jobs.enqueueBatch(new JobBatch())).toEqual([]);
    expect(enqueue).not.toHaveBeenCalled();
  });

  it('with one key twice is refused, naming it', async () => {
    await using app = await start();
    const batch = new JobBatch()
      .enqueue(Orders, (o) => o.confirm('a'), { idempotencyKey: 'k' })
      .schedule(Orders, (o) => o.confirm('b'), 5, { idempotencyKey: 'k' });

    await expect(app.jobs.enqueueBatch(batch)).rejects.toThrow(/two jobs of the batch have the idempotency key "k"/i);
    expect(await app.claim('orders')).toEqual([]);
  });

  it.each<[string, (batch: JobBatch) => unknown]>([
    ['a parent that does not exist', (b) => b.continueWith(newId(new Date()), Orders, (o) => o.confirm('x'))],
    ['a method that is no job', (b) => b.enqueue(Orders, (o) => o.other())],
    ['arguments above the limit', (b) => b.enqueue(Orders, (o) => o.confirm('x'.repeat(1000)))],
  ])('with %s stores nothing at all', async (_, spoil) => {
    await using app = await start({ maxPayloadBytes: 500 });
    const batch = new JobBatch();
    for (let count = 0; count < 9; count++) batch.enqueue(Orders, (o) => o.confirm(count));
    spoil(batch);

    await expect(app.jobs.enqueueBatch(batch)).rejects.toThrow();

    expect(await app.claim('orders')).toEqual([]);
  });

  it('says which parent is missing', async () => {
    await using app = await start();
    const parent = newId(new Date());

    await expect(
      app.jobs.enqueueBatch(new JobBatch().continueWith(parent, Orders, (o) => o.confirm('x'))),
    ).rejects.toMatchObject({ parentId: parent, code: new ParentJobNotFoundError(parent, parent).code });
  });

  it.each<[string, (batch: JobBatch) => unknown, RegExp]>([
    [
      'an index of itself',
      (b) => b.continueWith(1, Orders, (o) => o.confirm('x')),
      /index of an earlier member \(0 to 0\)/,
    ],
    ['a negative index', (b) => b.continueWith(-1, Orders, (o) => o.confirm('x')), /index of an earlier member/],
    ['half an index', (b) => b.continueWith(0.5, Orders, (o) => o.confirm('x')), /index of an earlier member/],
    ['a parent that is no id', (b) => b.continueWith('x', Orders, (o) => o.confirm('x')), /expected the parent/],
    ['a negative delay', (b) => b.schedule(Orders, (o) => o.confirm('x'), -1), /delay/],
    ['an unknown option', (b) => b.enqueue(Orders, (o) => o.confirm('x'), { que: 'x' } as FollowUpOptions), /"que"/],
    [
      'a transaction of one member',
      (b) => b.enqueue(Orders, (o) => o.confirm('x'), { transaction: {} } as FollowUpOptions),
      /"transaction"/,
    ],
    ['an argument that cannot be stored', (b) => b.enqueue(Orders, (o) => o.confirm(() => 1)), /Argument 1/],
  ])('refuses %s where it is added, and stays as it was', (_, add, message) => {
    const batch = new JobBatch().enqueue(Orders, (o) => o.confirm('a'));

    expect(() => add(batch)).toThrow(message);
    expect(batch.size).toBe(1);
  });

  it('refuses a callback that is no call, and a batch that is none', async () => {
    await using app = await start();

    expect(() => new JobBatch().enqueue(Orders, () => undefined)).toThrow(InvalidCallError);
    await expect(app.jobs.enqueueBatch([] as unknown as JobBatch)).rejects.toThrow(InvalidArgumentError);
  });
});
