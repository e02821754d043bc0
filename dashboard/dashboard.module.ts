import { Module, type DynamicModule } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { InfoController } from './api/info/info.controller';
import { DashboardNotAuthorizedError } from './dashboard.errors';
import type { MillraceDashboardOptions } from './dashboard.options';
import { UiAssets } from './ui-assets';
import { UiHostController } from './ui-host.controller';

const OPEN_ENVIRONMENTS = ['development', 'test'];

/** REST below `<path>/api/v1`, the UI at `<path>/ui/`. Walking frame: no authorization yet, so no production either. */
@Module({ controllers: [InfoController, UiHostController], providers: [UiAssets] })
export class MillraceDashboardModule {
  /** @throws {DashboardNotAuthorizedError} NODE_ENV is neither `development` nor `test` */
  static forRoot({ path = 'millrace' }: MillraceDashboardOptions = {}): DynamicModule {
    const environment = process.env['NODE_ENV'];
    if (!OPEN_ENVIRONMENTS.includes(environment ?? '')) throw new DashboardNotAuthorizedError(environment);
    return {
      module: MillraceDashboardModule,
      imports: [RouterModule.register([{ path, module: MillraceDashboardModule }])],
    };
  }
}
