import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { MillraceOptions, MillraceOptionsLayer } from './millrace.options';

/** What `useClass` and `useExisting` of `MillraceModule.forRootAsync` name. */
export interface MillraceOptionsFactory {
  createMillraceOptions(): MillraceOptions | Promise<MillraceOptions>;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: GIVEN_OPTIONS } =
  new ConfigurableModuleBuilder<MillraceOptions>({ moduleName: 'Millrace' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createMillraceOptions')
    .setExtras({}, (definition) => ({ ...definition, global: true }))
    .build();

/** A layer of options above all others: empty, for a test host to override. */
export const MILLRACE_OPTION_OVERRIDES = Symbol('MILLRACE_OPTION_OVERRIDES');
export const NO_OVERRIDES: MillraceOptionsLayer = Object.freeze({});

/** The token of the opened {@link Storage}. */
export const MILLRACE_STORAGE = Symbol('MILLRACE_STORAGE');

/** Where `forRoot` or `forRootAsync` was called. */
export const REGISTRATION_PLACE = Symbol('MILLRACE_REGISTRATION_PLACE');
