import { Activity, type ActivityContext, type IActivity } from 'nestjs-millrace';
import type { FulfilmentData } from './fulfilment-data';

/** Fails the saga unless somebody has approved: a wait that ended by its timeout leaves no decision behind. */
@Activity()
export class CheckApproval implements IActivity<FulfilmentData> {
  execute({ data }: ActivityContext<FulfilmentData>): void {
    if (data.approved === null) throw new Error('Nobody has decided in time.');
    if (!data.approved) throw new Error('The order was not approved.');
  }
}
