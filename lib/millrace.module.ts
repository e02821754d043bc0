import { type ConfigurableModuleAsyncOptions, type DynamicModule, type FactoryProvider, Module } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { AmbientJobContext } from './jobs/ambient-job-context';
import { EnqueueCoalescer } from './jobs/enqueue-coalescer';
import { InvocationRunner } from './jobs/invocation-runner';
import { JobClient } from './jobs/job-client';
import { IJobClient } from './jobs/job-client.interface';
import { JobContext } from './jobs/job-context';
import { JobExplorer } from './jobs/job-explorer';
import { JobFactory } from './jobs/job-factory';
import { JobRegistry } from './jobs/job-registry';
import { JobTargets } from './jobs/job-targets';
import { MillraceLifecycle } from './millrace.lifecycle';
import {
  ConfigurableModuleClass,
  GIVEN_OPTIONS,
  MILLRACE_OPTION_OVERRIDES,
  MILLRACE_STORAGE,
  type MillraceOptionsFactory,
  NO_OVERRIDES,
  REGISTRATION_PLACE,
} from './millrace.module-definition';
import {
  mergeLayers,
  MILLRACE_OPTIONS,
  type MillraceOptions,
  type MillraceOptionsLayer,
  type ResolvedMillraceOptions,
  resolveOptions,
} from './millrace.options';
import { callerPlace, refuseSecondRegistration } from './millrace.registration';
import { openStorage } from './millrace.storage';
import { IClock } from './model/time';
import { schedulerProviders } from './scheduler';
import { IJobStorage } from './storage/job-storage';
import { IMonitoringStorage } from './storage/monitoring-storage';
import type { Storage } from './storage/storage';
import { IStorageNotifier } from './storage/storage-notifier';
import { IWorkflowStorage } from './storage/workflow-storage';
import { ITenantContext } from './tenancy/tenant-context';
import { ApplicationLifecycleModule, workerProviders } from './worker';
import { workflowProviders } from './workflows';
import { IWorkflowClient } from './workflows/workflow-client.interface';

/** Durable jobs in a Nest application: global, registered once, in the root module. */
@Module({
  imports: [DiscoveryModule, ApplicationLifecycleModule],
  providers: [
    { provide: MILLRACE_OPTION_OVERRIDES, useValue: NO_OVERRIDES },
    {
      provide: MILLRACE_OPTIONS,
      inject: [ModulesContainer, GIVEN_OPTIONS, MILLRACE_OPTION_OVERRIDES],
      useFactory: (modules: ModulesContainer, given: MillraceOptions, overrides: MillraceOptionsLayer) => {
        refuseSecondRegistration(modules, MillraceModule);
        return resolveOptions(given, overrides);
      },
    },
    { provide: MILLRACE_STORAGE, inject: [MILLRACE_OPTIONS], useFactory: openStorage },
    port(IJobStorage, ({ jobs }) => jobs),
    port(IWorkflowStorage, ({ workflows }) => workflows),
    port(IMonitoringStorage, ({ monitoring }) => monitoring),
    port(IStorageNotifier, ({ notifier }) => notifier),
    { provide: IClock, inject: [MILLRACE_OPTIONS], useFactory: ({ clock }: ResolvedMillraceOptions) => clock },
    {
      provide: ITenantContext,
      inject: [MILLRACE_OPTIONS],
      useFactory: ({ tenants }: ResolvedMillraceOptions) => tenants,
    },
    {
      provide: EnqueueCoalescer,
      inject: [IJobStorage],
      useFactory: (storage: IJobStorage) => new EnqueueCoalescer(storage),
    },
    { provide: IJobClient, useClass: JobClient },
    { provide: JobContext, useClass: AmbientJobContext },
    JobRegistry,
    JobExplorer,
    JobTargets,
    JobFactory,
    InvocationRunner,
    MillraceLifecycle,
    ...workerProviders,
    ...schedulerProviders,
    ...workflowProviders,
  ],
  exports: [
    MILLRACE_OPTIONS,
    MILLRACE_STORAGE,
    IClock,
    ITenantContext,
    IJobStorage,
    IWorkflowStorage,
    IMonitoringStorage,
    IJobClient,
    IWorkflowClient,
    JobContext,
  ],
})
export class MillraceModule extends ConfigurableModuleClass {
  /**
   * Registers Millrace for the whole application.
   *
   * @param layers options; later layers win key by key
   * @throws (at startup) {InvalidArgumentError} for a wrong option, {SecondRegistrationError} for a second registration, and
   *   {StorageUnavailableError} when the store cannot be reached for `startupTimeout`
   */
  static override forRoot(...layers: readonly MillraceOptionsLayer[]): DynamicModule {
    return placed(super.forRoot(mergeLayers(layers) as MillraceOptions), callerPlace());
  }

  /** Like {@link forRoot}, with options that other providers give: `useFactory` with `inject`, `useClass` or `useExisting`. */
  static override forRootAsync(
    options: ConfigurableModuleAsyncOptions<MillraceOptions, keyof MillraceOptionsFactory>,
  ): DynamicModule {
    return placed(super.forRootAsync(options), callerPlace());
  }
}

function placed(definition: DynamicModule, place: string): DynamicModule {
  return {
    ...definition,
    providers: [...(definition.providers ?? []), { provide: REGISTRATION_PLACE, useValue: place }],
  };
}

/** A port of the opened store, under its own token. */
function port<T>(provide: abstract new () => T, useFactory: (storage: Storage) => T | null): FactoryProvider<T | null> {
  return { provide, inject: [MILLRACE_STORAGE], useFactory };
}
