import { type IWorkflow, type IWorkflowBuilder, Retry, Workflow } from 'nestjs-millrace';
import { AskForReview } from './ask-for-review';
import { CheckApproval } from './check-approval';
import { type ApprovalDecision, APPROVAL_LIMIT, FulfilmentData } from './fulfilment-data';
import { PackOrder, UnpackOrder } from './pack-order';
import { ReleaseStock, ReserveStock } from './reserve-stock';
import { RefundPayment, TakePayment } from './take-payment';

/**
 * From a confirmed order to a review of it. Whatever fails for good inside the saga, a refused approval included, undoes
 * the steps before it, the last one first.
 */
@Workflow({ id: 'fulfilment', version: 1, data: FulfilmentData })
export class FulfilmentWorkflow implements IWorkflow<FulfilmentData> {
  build(flow: IWorkflowBuilder<FulfilmentData>): void {
    flow
      .saga((saga) =>
        saga
          .then(ReserveStock)
          .compensateWith(ReleaseStock)
          .parallel(
            (payment) => payment.then(TakePayment, { queue: 'payments' }).compensateWith(RefundPayment),
            (packing) => packing.then(PackOrder).compensateWith(UnpackOrder),
          )
          .if(
            (order) => order.total > APPROVAL_LIMIT,
            (approval) =>
              approval
                .waitForSignal<ApprovalDecision>({
                  name: 'approval',
                  correlate: (order) => order.orderId,
                  bind: (order, decision) => {
                    order.approved = decision.approved;
                  },
                  timeout: '3d',
                })
                .then(CheckApproval, { retry: Retry.none }),
          ),
      )
      .delay('10s') // a few days, in a real shop: it is a row with a due time, and outlives any restart
      .then(AskForReview);
  }
}
