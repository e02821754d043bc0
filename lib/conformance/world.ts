import { FakeClock } from '../model/time';
import type { IJobStorage } from '../storage/job-storage';
import type { IMonitoringStorage } from '../storage/monitoring-storage';
import type { Storage } from '../storage/storage';
import type { IWorkflowStorage } from '../storage/workflow-storage';
import type { ConformanceRunner, CreateHarness, StorageHarness } from './harness';

/** What a fact is about: one empty store at 2026-01-01T00:00:00Z. */
export interface World extends Pick<StorageHarness, 'storage' | 'another' | 'unopened' | 'transactions'> {
  readonly clock: FakeClock;
  readonly jobs: IJobStorage;
  readonly workflows: IWorkflowStorage;
  readonly monitoring: IMonitoringStorage;
  /** The store and a second one over its database, for facts about nodes that race. */
  nodes(): Promise<readonly [Storage, Storage]>;
}

/** How facts are registered: grouped by theme, each a sentence about behaviour with a world of its own. */
export interface FactSuite {
  readonly describe: (theme: string, body: () => void) => void;
  readonly fact: (sentence: string, body: (world: World) => Promise<void>) => void;
}

export function factSuite({ describe, it }: ConformanceRunner, createHarness: CreateHarness): FactSuite {
  return {
    describe: (theme, body) => void describe(theme, body),
    fact: (sentence, body) => void it(sentence, () => inWorld(createHarness, body)),
  };
}

async function inWorld(createHarness: CreateHarness, body: (world: World) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const harness = await createHarness(clock);
  try {
    await body(worldOf(harness, clock));
  } finally {
    await harness.dispose();
  }
}

function worldOf(harness: StorageHarness, clock: FakeClock): World {
  const { storage } = harness;
  return {
    clock,
    storage,
    jobs: storage.jobs,
    workflows: storage.workflows,
    monitoring: storage.monitoring,
    transactions: harness.transactions,
    another: (deviations) => harness.another(deviations),
    unopened: (count) => harness.unopened(count),
    nodes: async () => [storage, await harness.another()],
  };
}
