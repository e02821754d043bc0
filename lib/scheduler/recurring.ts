import { Inject, Injectable } from '@nestjs/common';
import { CronExpression } from '../model/cron-expression';
import { InvalidCronError } from '../model/errors';
import { newId } from '../model/ids';
import { type JobRecord, newJob } from '../model/job';
import { MisfirePolicy, type RecurringDefinition } from '../model/recurring-definition';
import { latest, type Milliseconds, MINUTE } from '../model/time';
import { WorkerContext } from '../worker/worker-context';

/** An occurrence that is later than this counts as missed. */
const MISFIRE_THRESHOLD: Milliseconds = MINUTE;

/** Fires what is due of the recurring definitions. */
@Injectable()
export class RecurringFirer {
  constructor(@Inject(WorkerContext) private readonly context: WorkerContext) {}

  /**
   * Fires every definition that is due, each once however many of its occurrences were missed.
   *
   * @returns how many jobs were stored
   */
  async fireDue(): Promise<number> {
    const { storage, options } = this.context;
    let fired = 0;
    for (;;) {
      const due = await storage.getDueRecurring(options.activationBatchSize);
      let dealtWith = 0;
      for (const definition of due) {
        try {
          if (await this.fireOrPark(definition)) fired++;
          dealtWith++;
        } catch (error) {
          // One that cannot be fired must not keep the others from it.
          this.context.outages.failed(`firing of recurring definition "${definition.id}"`, error);
        }
      }
      if (due.length < options.activationBatchSize || dealtWith === 0) return fired;
    }
  }

  private async fireOrPark(definition: RecurringDefinition): Promise<boolean> {
    const planned = definition.nextFireTime;
    if (planned === null) return false;
    let expression: CronExpression;
    try {
      expression = CronExpression.parse(definition.cron);
    } catch (error) {
      if (!(error instanceof InvalidCronError)) throw error;
      await this.park(definition, planned, error);
      return false;
    }
    return this.fire(definition, planned, expression);
  }

  private async fire(definition: RecurringDefinition, planned: Date, expression: CronExpression): Promise<boolean> {
    const { storage, clock, logger } = this.context;
    const now = clock.now();
    // From the occurrence, not from the clock alone: a clock that was set back must not bring it again.
    const next = expression.nextAfter(latest(planned, now));
    const missed = now.getTime() - planned.getTime() > MISFIRE_THRESHOLD;
    const job = missed && definition.misfire === MisfirePolicy.Skip ? null : occurrenceOf(definition, planned, now);
    // Losing is normal: another node fired this occurrence first, and its job is stored already.
    if (!(await storage.tryFireRecurring(definition.id, planned, next, job))) return false;
    const what = job === null ? 'dropped its occurrence of' : `fired job ${job.id} for`;
    logger.debug(`Recurring definition "${definition.id}" ${what} ${planned.toISOString()}.`);
    return job !== null;
  }

  private async park(definition: RecurringDefinition, planned: Date, error: InvalidCronError): Promise<void> {
    const { storage, logger } = this.context;
    if (!(await storage.parkRecurring(definition.id, planned, error.message))) return;
    logger.error(`Recurring definition "${definition.id}" is parked until it is stored anew: ${error.message}`);
  }
}

function occurrenceOf(definition: RecurringDefinition, planned: Date, now: Date): JobRecord {
  return newJob({
    id: newId(now),
    createdAt: now,
    queue: definition.queue,
    priority: definition.priority,
    handler: definition.handler,
    args: definition.args,
    argTypes: definition.argTypes,
    retry: definition.retry,
    timeout: definition.timeout,
    tenantId: definition.tenantId,
    recurringId: definition.id,
    occurrenceAt: planned,
  });
}
