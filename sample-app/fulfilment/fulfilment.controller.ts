import { BadRequestException, Body, Controller, Get, HttpCode, NotFoundException, Param, Post } from '@nestjs/common';
import { type InstanceId, IWorkflowClient } from 'nestjs-millrace';
import { type ApprovalDecision, FulfilmentData } from './fulfilment-data';
import { FulfilmentWorkflow } from './fulfilment.workflow';

@Controller()
export class FulfilmentController {
  constructor(private readonly workflows: IWorkflowClient) {}

  /** Starts the workflow: `{ "total": 1200 }`. While one for this order is under way, a second call answers with the same. */
  @Post('orders/:id/fulfil')
  @HttpCode(202)
  async fulfil(@Param('id') orderId: string, @Body('total') total: unknown = 0): Promise<{ instanceId: InstanceId }> {
    if (typeof total !== 'number') throw new BadRequestException('total must be a number');
    const order = Object.assign(new FulfilmentData(), { orderId, total });
    return { instanceId: await this.workflows.start(FulfilmentWorkflow, order, { key: orderId }) };
  }

  /** Sends the signal that an expensive order waits for: `{ "approved": true }`. False when nobody waits for it (yet). */
  @Post('orders/:id/approval')
  @HttpCode(200)
  async approve(@Param('id') orderId: string, @Body('approved') approved: unknown): Promise<{ delivered: boolean }> {
    if (typeof approved !== 'boolean') throw new BadRequestException('approved must be true or false');
    const decision: ApprovalDecision = { approved };
    return { delivered: await this.workflows.signal('approval', orderId, decision) };
  }

  @Get('fulfilments/:id')
  async get(@Param('id') id: InstanceId) {
    const instance = await this.workflows.getInstance(id);
    if (!instance) throw new NotFoundException(`There is no fulfilment ${id}`);
    const { state, suspendedReason, failure, createdAt, updatedAt } = instance;
    return { id, state, suspendedReason, failure, createdAt, updatedAt, data: await this.workflows.getData(id) };
  }

  /** Stops it where it stands; nothing is undone. */
  @Post('fulfilments/:id/cancel')
  @HttpCode(200)
  async cancel(@Param('id') id: InstanceId): Promise<{ cancelled: boolean }> {
    return { cancelled: await this.workflows.cancel(id) };
  }
}
