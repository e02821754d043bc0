import type { InstanceState, IWorkflowClient } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import type { RecordFile } from '../records';
import { type Journey, keyOf } from './journey';
import { JourneyWorkflow } from './journey.workflow';

const LANES = 40; // journeys that are accompanied at a time: most only wait
const ENDED: readonly InstanceState[] = ['Completed', 'Failed', 'Compensated', 'Cancelled'];

/** Starts journeys and sends their signals. Killed and started again, it takes up every journey not written off as done. */
export class JourneyProducer {
  constructor(
    private readonly workflows: IWorkflowClient,
    private readonly records: RecordFile,
  ) {}

  async produce(plan: readonly Journey[]): Promise<void> {
    const done = new Set(this.records.read().map((record) => (record.kind === 'done' ? record.item : null)));
    const left = plan.filter(({ item }) => !done.has(item)).toReversed();
    const lane = async () => {
      for (let journey = left.pop(); journey; journey = left.pop()) {
        await this.accompany(journey);
        this.records.append({ kind: 'done', item: journey.item });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  private async accompany(journey: Journey): Promise<void> {
    const { item } = journey;
    const begun = this.records.read().find((record) => record.kind === 'begun' && record.item === item);
    const instance =
      begun?.kind === 'begun'
        ? begun.instance
        : await this.workflows.start(JourneyWorkflow, journey, { key: keyOf(journey) });
    if (!begun) this.records.append({ kind: 'begun', item, instance });
    if (journey.handover === 'expired') return;
    while (!(await this.workflows.signal('handover', keyOf(journey), true))) {
      const seen = await this.workflows.getInstance(instance);
      if (seen && ENDED.includes(seen.state)) return;
      await pause(100);
    }
  }
}
