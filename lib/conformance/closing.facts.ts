import { later, MINUTE } from '../model/time';
import { type Claimed, claimBy, dead, failed, putBack, released, succeeded } from './builders';
import { assertEqual } from './expectations';
import { applied, detailsOf, runningStep, statesOf, storedJob } from './steps';
import type { FactSuite, World } from './world';
import { cancelling } from './workflow-builders';

/** A step whose scope has ended may finish, and does not come back. */
export function closingFacts({ describe, fact }: FactSuite): void {
  describe('a closing step', () => {
    fact('that fails is dead', async (world) => {
      const { jobs, clock } = world;
      const step = await closingStep(world);

      await applied(jobs, failed(step, later(clock.now(), MINUTE)));

      const { state, failures, lastError, dueAt, finishedAt, attempts } = await detailsOf(world, step.id);
      assertEqual([state, failures, lastError, dueAt, finishedAt], ['Dead', 1, 'boom', null, clock.now()]);
      assertEqual(
        attempts.map(({ outcome, error }) => [outcome, error]),
        [['Failed', 'boom']],
      );
    });

    fact('that is given back is cancelled', async (world) => {
      const step = await closingStep(world);

      await applied(world.jobs, released(step));

      const { state, finishedAt, workerId, leaseUntil } = await storedJob(world, step.id);
      assertEqual([state, finishedAt, workerId, leaseUntil], ['Cancelled', world.clock.now(), null, null]);
    });

    fact('that is put back waits for a node that can end it', async (world) => {
      const { jobs, clock } = world;
      const step = await closingStep(world);
      const dueAt = later(clock.now(), MINUTE);

      await applied(jobs, putBack(step, dueAt));

      const { state, closing, dueAt: due } = await storedJob(world, step.id);
      assertEqual([state, closing, due], ['Scheduled', true, dueAt]);
      clock.advance(MINUTE);
      await jobs.activateDue(10);
      assertEqual(
        (await jobs.claim(claimBy('w2'))).map((claim) => [claim.id, claim.closing]),
        [[step.id, true]],
      );
    });

    fact('that succeeds has succeeded, and that dies has died', async (world) => {
      const [a, b] = [await closingStep(world), await closingStep(world)];

      await applied(world.jobs, succeeded(a), dead(b));

      assertEqual(await statesOf(world, [a.id, b.id]), ['Succeeded', 'Dead']);
    });

    fact('tells the worker that takes it over', async (world) => {
      await closingStep(world);
      world.clock.advance(10 * MINUTE);

      const [claim] = await world.jobs.claim(claimBy('w2'));

      assertEqual([claim?.closing, claim?.cancelRequested, claim?.attempt], [true, false, 2]);
    });
  });
}

async function closingStep(world: World): Promise<Claimed> {
  const { instance, step } = await runningStep(world, { scope: 'saga1/' });
  await world.workflows.advanceInstance(instance.id, cancelling(['saga1/'], 'finish'));
  return step;
}
