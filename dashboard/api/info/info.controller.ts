import { Controller, Get, Inject } from '@nestjs/common';
import { IJobClient, MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../../../lib';
import { ApiOkResponse } from '../../optional-swagger';
import { InfoDto } from './info.dto';

@Controller('api/v1/info')
export class InfoController {
  constructor(
    @Inject(IJobClient) private readonly jobs: IJobClient,
    @Inject(MILLRACE_OPTIONS) private readonly options: ResolvedMillraceOptions,
  ) {}

  @Get()
  @ApiOkResponse({ type: InfoDto })
  getInfo(): InfoDto {
    return { provider: this.options.storage.provider, handlers: this.jobs.getHandlerNames() };
  }
}
