import { Controller, Get, Module } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { MillraceDashboardModule } from 'nestjs-millrace/dashboard';
import { ADAPTERS, RunningApplication } from '../support/applications';
import { ShopModule } from '../support/shop.module';

@Controller('orders')
class OrdersController {
  @Get()
  list(): string[] {
    return [];
  }
}

@Module({ imports: [ShopModule], controllers: [OrdersController] })
class ApplicationModule {}

describe.each(ADAPTERS)('OpenAPI document on %s', (adapter) => {
  it('describes the dashboard and nothing of the application around it', async () => {
    await using shop = await RunningApplication.start(ApplicationModule, adapter);

    const config = new DocumentBuilder().setTitle('Millrace').setVersion('1').build();
    const document = SwaggerModule.createDocument(shop.app, config, { include: [MillraceDashboardModule] });

    expect(Object.keys(document.paths)).toEqual(['/millrace/api/v1/info']);
    expect(document.components?.schemas?.['InfoDto']).toMatchObject({
      required: ['provider', 'handlers'],
      properties: { handlers: { type: 'array', items: { type: 'string' } } },
    });
  });
});
