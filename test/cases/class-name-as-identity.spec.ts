import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, Module, type Type } from '@nestjs/common';
import { DuplicateHandlerError, Job, JobTarget } from 'nestjs-millrace';
import { MinifiedBuild } from '../support/minified-build';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

interface Syncing {
  run(): Promise<void>;
}

/** A module of the application with a service of its own, which happens to have another one's name. */
function moduleWithSyncService(name: string, ran: string[], pinned?: string): { module: Type; service: Type<Syncing> } {
  @Injectable()
  class SyncService implements Syncing {
    @Job()
    async run(): Promise<void> {
      ran.push(name);
    }
  }
  if (pinned !== undefined) JobTarget(pinned)(SyncService);
  const module = { [name]: class {} }[name]!;
  Module({ providers: [SyncService] })(module);
  return { module, service: SyncService };
}

const BILLING = `
  @Injectable() class BillingSync { @Job() async run() { console.log('billing ran'); finished(); } }`;
const AUTH = `
  @Injectable() class AuthSync { @Job() async run() { console.log('auth ran'); finished(); } }`;
const pinned = (name: string, source: string) => source.replace('@Injectable()', `@Injectable() @JobTarget('${name}')`);

/** One role enqueues a job of each service; the other runs what it finds, and ends after two. */
const program = (services: string) => `
  import 'reflect-metadata';
  import { Injectable, Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { IJobClient, Job, JobTarget, MillraceModule } from 'nestjs-millrace';
  import { registrationOf } from '${join(__dirname, '../support/store-address')}';

  let ended = 0;
  const finished = () => { if (++ended === 2) setImmediate(() => app.close()); };
  let app;
  ${services}
  const enqueues = process.env.ROLE === 'enqueue';
  @Module({
    imports: [MillraceModule.forRoot({ storage: registrationOf(JSON.parse(process.env.STORE)), workerEnabled: !enqueues })],
    providers: [BillingSync, AuthSync],
  })
  class AppModule {}
  NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] }).then(async (started) => {
    app = started;
    if (!enqueues) return;
    await app.get(IJobClient).enqueue(BillingSync, (sync) => sync.run());
    await app.get(IJobClient).enqueue(AuthSync, (sync) => sync.run());
    await app.close();
  });`;

describe('handlers that are told apart by the names of their classes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-builds-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  describeOnStores(['memory', 'postgres'], (freshStore) => {
    it('stop the start where two classes have one name, and the error names both and the way out', async () => {
      const modules = ['BillingModule', 'AuthModule'].map((name) => moduleWithSyncService(name, []).module);

      const start = RunningNode.start({ store: freshStore(), imports: modules });

      await expect(start).rejects.toBeInstanceOf(DuplicateHandlerError);
      await expect(start).rejects.toThrow(
        /"SyncService\.run": SyncService of BillingModule and SyncService of AuthModule\. .*@JobTarget\('name'\)/,
      );
    });

    it('stop the start where one name was given to two classes', async () => {
      const modules = ['BillingModule', 'AuthModule'].map((name) => moduleWithSyncService(name, [], 'sync').module);

      const start = RunningNode.start({ store: freshStore(), imports: modules });

      await expect(start).rejects.toThrow(/"sync\.run"/);
    });

    it('each run their own jobs where names of their own were given to them', async () => {
      const ran: string[] = [];
      const billing = moduleWithSyncService('BillingModule', ran, 'billing-sync');
      const auth = moduleWithSyncService('AuthModule', ran, 'auth-sync');
      await using node = await RunningNode.start({ store: freshStore(), imports: [billing.module, auth.module] });

      await node.jobs.enqueue(billing.service, (sync) => sync.run());
      await node.allEnded();
      await node.jobs.enqueue(auth.service, (sync) => sync.run());
      await node.allEnded();

      expect(ran).toEqual(['BillingModule', 'AuthModule']);
    });
  });

  describeOnStores(['sqlite', 'postgres'], (freshStore) => {
    const builds = (...services: [string, string]) => ({
      first: MinifiedBuild.make(folder, 'first', program(services.join('\n'))),
      second: MinifiedBuild.make(folder, 'second', program(services.toReversed().join('\n'))),
    });

    it('run the right class in the next build, whatever a minifier calls it, where their names are pinned', async () => {
      const { first, second } = builds(pinned('billing', BILLING), pinned('auth', AUTH));
      const env = { STORE: JSON.stringify(freshStore()), NODE_ENV: 'production' };

      const enqueued = await first.run({ ...env, ROLE: 'enqueue' });
      const ran = await second.run({ ...env, ROLE: 'run' });

      expect(enqueued).toEqual({ code: 0, output: '' });
      expect(ran).toEqual({ code: 0, output: 'billing ran\nauth ran\n' });
    });

    it('stop the start in production where only a minifier has named them, and are told of elsewhere', async () => {
      const { first } = builds(BILLING, AUTH);
      const env = { STORE: JSON.stringify(freshStore()), ROLE: 'enqueue' };

      const production = await first.run({ ...env, NODE_ENV: 'production' });
      const development = await first.run({ ...env, NODE_ENV: 'development' });

      expect(production.code).not.toBe(0);
      expect(production.output).toMatch(/names that a minifier made.*@JobTarget\('name'\)/);
      expect(development.code).toBe(0);
      expect(development.output).toMatch(/names that a minifier made.*@JobTarget\('name'\)/);
    });
  });
});
