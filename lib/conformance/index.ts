// The entry `nestjs-millrace/conformance`: the storage contract, executable. A store is supported when it passes.
import { advanceInstanceFacts } from './advance-instance.facts';
import { advanceFacts } from './advance.facts';
import { attemptFacts } from './attempts.facts';
import { bookmarkFacts } from './bookmarks.facts';
import { callerTransactionFacts } from './caller-transaction.facts';
import { cancellationOutcomeFacts } from './cancellation-outcome.facts';
import { cancellationFacts } from './cancellation.facts';
import { claimFacts } from './claims.facts';
import { closingFacts } from './closing.facts';
import { continuationFacts } from './continuations.facts';
import { definitionStartFacts } from './definition-starts.facts';
import { definitionFacts } from './definitions.facts';
import { deletionFacts } from './deletion.facts';
import { enqueueFacts } from './enqueue.facts';
import { expiryFacts } from './expiry.facts';
import { fenceFacts } from './fence.facts';
import { flushedCancellationFacts } from './flushed-cancellation.facts';
import { flushFacts } from './flushes.facts';
import type { ConformanceRunner, CreateHarness } from './harness';
import { idempotencyFacts } from './idempotency.facts';
import { instanceListFacts } from './instance-list.facts';
import { instanceFacts } from './instances.facts';
import { jobListFacts } from './job-list.facts';
import { leaseFacts } from './leases.facts';
import { limitFacts } from './limits.facts';
import { monitoringFacts } from './monitoring.facts';
import { nameFacts } from './names.facts';
import { nodeFacts } from './nodes.facts';
import { openingFacts } from './opening.facts';
import { probeFacts } from './probe.facts';
import { recurringFireFacts } from './recurring-fires.facts';
import { recurringListFacts } from './recurring-list.facts';
import { recurringFacts } from './recurring.facts';
import { renewalFacts } from './renewals.facts';
import { retentionFacts } from './retention.facts';
import { schedulingFacts } from './scheduling.facts';
import { scopeFacts } from './scopes.facts';
import { signalFacts } from './signals.facts';
import { suspectFacts } from './suspects.facts';
import { transactionReadFacts } from './transaction-reads.facts';
import { transactionWaitFacts } from './transaction-waits.facts';
import { transitionFacts } from './transitions.facts';
import { factSuite } from './world';

export { FakeClock } from '../model/time';
export { conformanceEnvironment } from './harness';
export type {
  CallerTransaction,
  CallerTransactions,
  ConformanceRunner,
  CreateHarness,
  StorageHarness,
} from './harness';

const ALL_FACTS = [
  openingFacts,
  enqueueFacts,
  claimFacts,
  suspectFacts,
  leaseFacts,
  renewalFacts,
  fenceFacts,
  transitionFacts,
  flushFacts,
  attemptFacts,
  idempotencyFacts,
  continuationFacts,
  cancellationFacts,
  schedulingFacts,
  recurringFacts,
  recurringFireFacts,
  definitionFacts,
  definitionStartFacts,
  instanceFacts,
  advanceInstanceFacts,
  advanceFacts,
  scopeFacts,
  closingFacts,
  cancellationOutcomeFacts,
  flushedCancellationFacts,
  signalFacts,
  bookmarkFacts,
  expiryFacts,
  callerTransactionFacts,
  transactionReadFacts,
  transactionWaitFacts,
  nodeFacts,
  probeFacts,
  retentionFacts,
  deletionFacts,
  jobListFacts,
  monitoringFacts,
  recurringListFacts,
  instanceListFacts,
  nameFacts,
  limitFacts,
] as const;

/**
 * Registers every fact of the storage contract, as one `describe` with an `it` each. Any store gets the same facts.
 *
 * @param name the store, as it stands in the report
 * @param runner two functions of any test runner; allow each fact 30 s
 * @param createHarness makes the empty store of one fact
 */
export function describeStorageConformance(
  name: string,
  runner: ConformanceRunner,
  createHarness: CreateHarness,
): void {
  const suite = factSuite(runner, createHarness);
  suite.describe(`${name} conforms to the storage contract`, () => {
    for (const register of ALL_FACTS) register(suite);
  });
}
