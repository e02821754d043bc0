/** The document of a fulfilment: all that its steps know of each other. */
export class FulfilmentData {
  orderId = '';
  /** In euros; above {@link APPROVAL_LIMIT} somebody has to approve. */
  total = 0;
  /** Null until somebody has decided, or the wait for it has ended. */
  approved: boolean | null = null;
  parcelNumber: string | null = null;
  paymentId: string | null = null;
}

export const APPROVAL_LIMIT = 1_000;

/** What `POST /orders/:id/approval` sends. */
export interface ApprovalDecision {
  readonly approved: boolean;
}
