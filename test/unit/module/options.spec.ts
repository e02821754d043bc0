import { FakeClock, SystemClock } from '../../../lib/model/time';
import { InvalidArgumentError } from '../../../lib/model/errors';
import { type MillraceOptionsLayer, resolveOptions } from '../../../lib/millrace.options';
import { Retry } from '../../../lib/model/retry';
import { inMemoryStorage } from '../../../lib/storage/in-memory';

const storage = inMemoryStorage();
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('Options', () => {
  it('have the documented defaults, as plain milliseconds', () => {
    expect(resolveOptions({ storage })).toEqual({
      storage,
      queues: ['default'],
      maxParallelism: 20,
      claimBatchSize: 500,
      activationBatchSize: 1000,
      leaseDuration: 5 * MINUTE,
      heartbeatInterval: 15_000,
      schedulerInterval: 1000,
      minPollDelay: 200,
      maxPollDelay: 5000,
      shutdownTimeout: 15_000,
      shutdownGrace: 2000,
      interruptionLimit: 10,
      workerEnabled: true,
      schedulerEnabled: true,
      defaultRetry: Retry.exponential(5),
      workflowQueue: 'default',
      retention: {
        succeeded: 7 * DAY,
        cancelled: 7 * DAY,
        dead: false,
        completedInstances: 30 * DAY,
        failedInstances: false,
      },
      maxPayloadBytes: 2 ** 20,
      lockTimeout: 5000,
      startupTimeout: 30_000,
      acceptChangedShapes: [],
      enhancers: 'method',
      clock: expect.any(SystemClock),
      tenants: expect.objectContaining({}),
      ambientTransaction: null,
    });
  });

  it('take later layers key by key, and leave alone what a layer does not set', () => {
    const clock = new FakeClock();

    const options = resolveOptions(
      { storage, queues: ['a'], maxParallelism: 4, retention: { dead: '1d' } },
      { queues: ['b', 'b', 'c'], clock },
      { maxParallelism: undefined, retention: { succeeded: false } },
    );

    expect(options).toMatchObject({ queues: ['b', 'c'], maxParallelism: 4, clock });
    expect(options.retention).toMatchObject({ succeeded: false, dead: false });
  });

  it('take durations in words and in milliseconds', () => {
    const options = resolveOptions({
      storage,
      leaseDuration: '10m',
      heartbeatInterval: 5000,
      retention: { dead: '2 days' },
    });

    expect(options).toMatchObject({
      leaseDuration: 10 * MINUTE,
      heartbeatInterval: 5000,
      retention: { dead: 2 * DAY },
    });
  });

  it.each<[object, RegExp]>([
    [{ storage: undefined }, /expected storage to be a registration such as sqliteStorage/],
    [{ storage: {} }, /expected storage to be/],
    [{ storage: 'postgres://…' }, /expected storage to be .*, got "postgres/],
    [{ queues: [] }, /expected queues to be a list of one queue or more, got an array of 0/],
    [{ queues: 'default' }, /expected queues to be/],
    [{ queues: ['ok', ''] }, /expected the queue to be a non-empty string/],
    [{ maxParallelism: 0 }, /expected maxParallelism to be a whole number of 1 or more, got 0/],
    [{ maxParallelism: 1.5 }, /maxParallelism/],
    [{ maxParallelism: '5' }, /maxParallelism.* got "5"/],
    [{ claimBatchSize: -1 }, /claimBatchSize/],
    [{ activationBatchSize: NaN }, /activationBatchSize/],
    [{ interruptionLimit: 0 }, /interruptionLimit/],
    [{ leaseDuration: 15_000 }, /expected leaseDuration to be longer than heartbeatInterval \(15000 ms\), got 15000/],
    [{ heartbeatInterval: 0 }, /expected heartbeatInterval to be longer than 0/],
    [{ schedulerInterval: 0 }, /schedulerInterval/],
    [{ schedulerInterval: 'soon' }, /expected schedulerInterval to be milliseconds or a string such as '30s'/],
    [{ minPollDelay: 0 }, /minPollDelay/],
    [{ minPollDelay: '6s' }, /expected maxPollDelay to be minPollDelay \(6000 ms\) or longer, got 5000/],
    [{ maxPollDelay: '30d' }, /expected maxPollDelay to be at most 24 days/],
    [{ shutdownTimeout: -1 }, /shutdownTimeout/],
    [{ shutdownGrace: Infinity }, /shutdownGrace/],
    [{ workerEnabled: 'no' }, /expected workerEnabled to be true or false, got "no"/],
    [{ schedulerEnabled: 1 }, /schedulerEnabled/],
    [{ defaultRetry: 5 }, /expected defaultRetry to be a policy/],
    [{ defaultRetry: { kind: 'Fixed', maxAttempts: 0, baseDelay: 0, maxDelay: 0 } }, /defaultRetry.*maxAttempts/],
    [{ workflowQueue: ' ' }, /queue/],
    [{ retention: { succeded: '7d' } }, /retention has no option "succeded"/],
    [{ retention: { dead: 'never' } }, /expected retention.dead to be/],
    [{ retention: 7 }, /expected retention to be/],
    [{ maxPayloadBytes: 0 }, /maxPayloadBytes/],
    [{ maxPayloadBytes: 2 ** 24 }, /expected maxPayloadBytes to be at most 8388608/],
    [{ lockTimeout: '-1s' }, /lockTimeout/],
    [{ startupTimeout: null }, /startupTimeout/],
    [{ queues: null }, /queues/],
    [{ clock: null }, /clock/],
    [{ retention: null }, /retention/],
    [{ defaultRetry: null }, /defaultRetry/],
    [{ startupTimeout: 'x' }, /startupTimeout/],
    [
      { acceptChangedShapes: ['onboarding'] },
      /expected acceptChangedShapes to be a list of versions such as \['onboarding@1'\]/,
    ],
    [{ acceptChangedShapes: 'onboarding@1' }, /acceptChangedShapes/],
    [{ enhancers: 'global' }, /expected enhancers to be 'method' or 'all', got "global"/],
    [{ clock: {} }, /expected clock to be an IClock/],
    [{ tenants: { current: () => null } }, /expected tenants to be an ITenantContext/],
    [{ ambientTransaction: {} }, /expected ambientTransaction to be a function/],
    [{ maxParalelism: 5 }, /MillraceModule has no option "maxParalelism"; its options are .*maxParallelism/],
  ])('refuse %j', (layer, message) => {
    const resolve = () => resolveOptions({ storage, ...layer });

    expect(resolve).toThrow(InvalidArgumentError);
    expect(resolve).toThrow(message);
  });

  it.each([null, 'x'])('must be an object, not %s', (layer) => {
    expect(() => resolveOptions({ storage }, layer as unknown as MillraceOptionsLayer)).toThrow(
      /expected the options of MillraceModule to be an object/,
    );
  });
});
