import { Injectable } from '@nestjs/common';
import { Activity, type ActivityContext, type IActivity, type IWorkflow, type IWorkflowBuilder } from 'nestjs-millrace';
import { IWorkflowClient, Workflow } from 'nestjs-millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

interface Payment {
  readonly reference: string;
  answers: string[];
}

/** The outside system: it answers as soon as it is asked, and repeats its answer until somebody takes it. */
@Injectable()
class Bank {
  readonly accepted: string[] = [];
  private readonly answering: Promise<void>[] = [];

  constructor(private readonly workflows: IWorkflowClient) {}

  ask(reference: string): void {
    this.answering.push(this.answer(reference));
  }

  async allAnswered(): Promise<void> {
    await Promise.all(this.answering);
  }

  private async answer(reference: string): Promise<void> {
    while (!(await this.workflows.signal('paid', reference, `receipt of ${reference}`))) await pause(5);
    this.accepted.push(reference);
  }
}

@Activity()
class AskBank implements IActivity<Payment> {
  constructor(private readonly bank: Bank) {}

  execute({ data }: ActivityContext<Payment>): void {
    this.bank.ask(data.reference);
  }
}

@Activity()
class Book implements IActivity<Payment> {
  readonly booked: string[] = [];

  execute({ data }: ActivityContext<Payment>): void {
    this.booked.push(`${data.reference}: ${data.answers.join(', ')}`);
  }
}

const paid = {
  name: 'paid',
  correlate: ({ reference }: Payment) => reference,
  bind: (data: Payment, receipt: string) => void data.answers.push(receipt),
};

@Workflow({ id: 'payment', version: 1 })
class PaymentWorkflow implements IWorkflow<Payment> {
  build(flow: IWorkflowBuilder<Payment>): void {
    flow.startWith(AskBank).waitForSignal<string>(paid).then(Book);
  }
}

@Workflow({ id: 'two payments', version: 1 })
class TwoPaymentsWorkflow implements IWorkflow<Payment> {
  build(flow: IWorkflowBuilder<Payment>): void {
    flow.waitForSignal<string>(paid).waitForSignal<string>(paid).then(Book);
  }
}

const ROUNDS = 200;
const AT_A_TIME = 20;

describe('a signal', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    const start = () =>
      RunningNode.start({
        store: freshStore(),
        providers: [Bank, AskBank, Book, PaymentWorkflow, TwoPaymentsWorkflow],
      });

    it('that comes before its wait is answered with false, and resumes nothing later', async () => {
      await using node = await start();
      const workflows = node.app.get(IWorkflowClient);

      expect(await workflows.signal('paid', 'early', 'too early')).toBe(false);
      const id = await workflows.start(TwoPaymentsWorkflow, { reference: 'early', answers: [] });
      await node.settled();

      expect(await workflows.getInstance(id)).toMatchObject({ state: 'Suspended' });
      expect(await workflows.getData(id)).toEqual({ reference: 'early', answers: [] });
    });

    it('that is repeated until somebody takes it resumes each instance exactly once', async () => {
      await using node = await start();
      const workflows = node.app.get(IWorkflowClient);
      const references = Array.from({ length: ROUNDS }, (_, round) => `payment ${round}`);

      for (let round = 0; round < ROUNDS; round += AT_A_TIME) {
        const ids = await Promise.all(
          references
            .slice(round, round + AT_A_TIME)
            .map((reference) => workflows.start(PaymentWorkflow, { reference, answers: [] })),
        );
        await eventually(async () => {
          const states = await Promise.all(ids.map(async (id) => (await workflows.getInstance(id))!.state));
          expect(states.filter((state) => state !== 'Completed')).toEqual([]);
        });
      }
      await node.get(Bank).allAnswered();

      expect(node.get(Bank).accepted.toSorted()).toEqual(references.toSorted());
      expect(node.get(Book).booked.toSorted()).toEqual(
        references.map((reference) => `${reference}: receipt of ${reference}`).toSorted(),
      );
    });

    it('ends one of two successive waits for it, and the second needs one of its own', async () => {
      await using node = await start();
      const workflows = node.app.get(IWorkflowClient);
      const id = await workflows.start(TwoPaymentsWorkflow, { reference: 'twice', answers: [] });

      expect(await workflows.signal('paid', 'twice', 'first')).toBe(true);
      await eventually(async () => expect(await workflows.getData(id)).toMatchObject({ answers: ['first'] }));
      await node.settled();
      expect(await workflows.getInstance(id)).toMatchObject({ state: 'Suspended' });

      expect(await workflows.signal('paid', 'twice', 'second')).toBe(true);
      await eventually(async () => expect(await workflows.getInstance(id)).toMatchObject({ state: 'Completed' }));
      expect(node.get(Book).booked).toEqual(['twice: first, second']);
    });
  });
});
