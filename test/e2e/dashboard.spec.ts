import { MillraceDashboardModule } from 'nestjs-millrace/dashboard';
import { ADAPTERS, RunningApplication } from '../support/applications';
import { ShopModule } from '../support/shop.module';

describe('Dashboard without authorization', () => {
  const environment = process.env['NODE_ENV'];
  afterEach(() => {
    process.env['NODE_ENV'] = environment;
  });

  it.each(['production', 'staging', ''])('refuses to start where NODE_ENV is "%s", and says why', (name) => {
    process.env['NODE_ENV'] = name;

    expect(() => MillraceDashboardModule.forRoot()).toThrow(/open to all.*NODE_ENV=development/);
  });
});

describe.each(ADAPTERS)('Dashboard on %s', (adapter) => {
  it('answers below its path and the global prefix', async () => {
    await using shop = await RunningApplication.start(ShopModule, adapter, 'ops');

    const response = await fetch(`${shop.url}/ops/millrace/api/v1/info`);

    expect(await response.json()).toMatchObject({ provider: 'in-memory', handlers: ['EmailSender.sendConfirmation'] });
  });

  it('serves the page and its assets under a strict policy', async () => {
    await using shop = await RunningApplication.start(ShopModule, adapter, 'ops');

    const page = await fetch(`${shop.url}/ops/millrace/ui/`);
    const html = await page.text();
    const script = await fetch(new URL(/src="([^"]+)"/.exec(html)![1]!, page.url));

    expect(page.headers.get('content-security-policy')).toContain(`script-src 'self'`);
    expect(html).not.toMatch(/<script>|<style|style=|onload=/);
    expect(script.headers.get('content-type')).toContain('text/javascript');
    expect(script.status).toBe(200);
  });

  it('sends a visitor without the closing slash to the page, by a relative location', async () => {
    await using shop = await RunningApplication.start(ShopModule, adapter, 'ops');

    const response = await fetch(`${shop.url}/ops/millrace/ui?x=1`, { redirect: 'manual' });

    expect([response.status, response.headers.get('location')]).toEqual([302, 'ui/']);
  });

  it.each(['missing.js', '..%2f..%2fui-assets.js', 'assets/', 'a/b/c'])('answers 404 for %s', async (name) => {
    await using shop = await RunningApplication.start(ShopModule, adapter);

    expect((await fetch(`${shop.url}/millrace/ui/${name}`)).status).toBe(404);
  });
});
