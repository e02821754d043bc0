import { type IWorkflow, type IWorkflowBuilder, NestedSagaPolicy, Retry, Workflow } from 'nestjs-millrace';
import { type Journey, keyOf } from './journey';
import {
  Book,
  Charge,
  Confirm,
  Detour,
  Fasten,
  Finish,
  Inform,
  Load,
  Pack,
  Prepare,
  Recall,
  Refund,
  Revoke,
  Ship,
  Unbook,
  Unload,
  Unpack,
} from './journey-steps';

function receive(data: Journey, received: boolean): void {
  data.received = received;
}

const patient = { retry: Retry.fixed('100ms', 4) };

/** Everything that a definition can hold, nested in one another: each journey takes its own way through it. */
@Workflow({ id: 'journey', version: 1 })
export class JourneyWorkflow implements IWorkflow<Journey> {
  build(flow: IWorkflowBuilder<Journey>): void {
    flow
      .startWith(Prepare, patient)
      .if(
        ({ detour }) => detour,
        (way) => way.delay('300ms').then(Detour, patient),
      )
      .saga((saga) =>
        saga
          .then(Book, patient)
          .compensateWith(Unbook, patient)
          .parallel(
            (branch) => branch.then(Pack, patient).compensateWith(Unpack, patient),
            (branch) =>
              branch.forEach(
                ({ parcels }) => parcels,
                (parcel) => parcel.then(Load, patient).compensateWith(Unload, patient).then(Fasten, patient),
                { concurrency: 3 },
              ),
          )
          .saga(
            (payment) =>
              payment
                .then(Charge, patient)
                .compensateWith(Refund, patient)
                .then(Confirm, patient)
                .compensateWith(Revoke, patient),
            NestedSagaPolicy.Unwind,
          )
          .then(Ship, patient)
          .compensateWith(Recall, patient)
          .if(
            ({ handover }) => handover === 'signalled',
            (way) => way.waitForSignal<boolean>({ name: 'handover', correlate: keyOf, bind: receive }),
            (way) => way.waitForSignal<boolean>({ name: 'silence', correlate: keyOf, bind: receive, timeout: '500ms' }),
          )
          .then(Inform, patient),
      )
      .then(Finish, patient);
  }
}
