import { Injectable } from '@nestjs/common';
import { Job } from 'nestjs-millrace';
import { LockTimeoutError } from 'nestjs-millrace/storage';
import { eventually } from '../../support/eventually';
import { PostgresSession } from '../../support/postgres-session';
import { RunningNode } from '../../support/running-node';
import { describeOnStores, type StoreAddress } from '../../support/stores';

@Injectable()
class Payments {
  @Job()
  async capture(): Promise<void> {}
}

describe('a row that an open transaction of somebody else keeps locked', () => {
  describeOnStores(['postgres'], (freshStore) => {
    const start = (store: StoreAddress, poolSize?: number) =>
      RunningNode.start({
        store,
        ...(poolSize !== undefined && { settings: { poolSize } }),
        lockTimeout: '1s',
        workerEnabled: false,
        schedulerEnabled: false,
        providers: [Payments],
      });

    it.each([1, 2, 10])(
      'is waited for a second; then the error names the key and who holds it (pool of %d)',
      async (poolSize) => {
        await using node = await start(freshStore(), poolSize);
        await using holder = await PostgresSession.open();
        await holder.query('begin');
        const enqueue = (options: object) => node.jobs.enqueue(Payments, (payments) => payments.capture(), options);
        await enqueue({ idempotencyKey: 'payment 1', transaction: holder });

        const startedAt = performance.now();
        const outcomes = await Promise.allSettled([
          enqueue({ idempotencyKey: 'payment 1' }),
          enqueue({ idempotencyKey: 'payment 1' }),
        ]);
        const took = performance.now() - startedAt;
        // Where all connections wait there is none left to ask the server who it is; on a busy one the answer may be late.
        if (poolSize > 2) await eventually(() => isNamed(holder, enqueue({ idempotencyKey: 'payment 1' })));
        const unaffected = await enqueue({ idempotencyKey: 'payment 2' });
        await holder.query('rollback');
        const afterwards = await enqueue({ idempotencyKey: 'payment 1' });

        for (const outcome of outcomes) {
          const { reason } = outcome as PromiseRejectedResult;
          expect(reason).toBeInstanceOf(LockTimeoutError);
          expect(reason.message).toContain('idempotency key "payment 1"');
        }
        expect(took).toBeGreaterThan(900);
        expect((await node.everyJob()).map(({ id }) => id)).toEqual([unaffected, afterwards]);
      },
    );

    it('is waited for inside a transaction of the caller as well, which stays usable', async () => {
      await using node = await start(freshStore());
      await using holder = await PostgresSession.open();
      await using caller = await PostgresSession.open();
      await Promise.all([holder, caller].map((session) => session.query('begin')));
      const enqueue = (idempotencyKey: string, transaction?: PostgresSession) =>
        node.jobs.enqueue(Payments, (payments) => payments.capture(), {
          idempotencyKey,
          ...(transaction && { transaction }),
        });
      await enqueue('payment 1', holder);

      const error = await enqueue('payment 1', caller).catch((thrown: unknown) => thrown);
      await eventually(() => isNamed(holder, enqueue('payment 1', caller)));
      const other = await enqueue('payment 2', caller);
      const [setting] = await caller.query<{ value: string }>(`select current_setting('lock_timeout') as value`);
      await caller.query('commit');

      expect(error).toBeInstanceOf(LockTimeoutError);
      expect((error as Error).message).toContain('idempotency key "payment 1"');
      expect(setting!.value).toBe('0');
      expect((await node.everyJob()).map(({ id }) => id)).toEqual([other]);
      await holder.query('rollback');
    });
  });
});

/** Expects that the error of a call names the session that holds what it waited for. */
async function isNamed(holder: PostgresSession, call: Promise<string>): Promise<void> {
  const error = await call.catch((thrown: unknown) => thrown as Error);
  expect((error as Error).message).toContain(`held by backend ${await holder.backend()} (test session)`);
}
